"""Redis servers on ports of 127.0.0.1, with nothing on disk, and commands to them."""

import socket

from processes import wait_until


def start(parts, name, port, *options):
    """A server that takes commands. Gives its process."""
    return started(parts.start(f"{name}-{port}", [
        "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", parts.run,
        "--dbfilename", f"{port}.rdb", *options]), port)


def started(process, port):
    """The process, once the server on this port takes commands."""
    wait_until(lambda: command(port, "PING") == b"+PONG\r\n", process)
    return process


def command(port, *words):
    """The response in RESP; empty where there is none."""
    text = b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(each), each) for each in
                                            (word if isinstance(word, bytes) else str(word).encode() for word in words))
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(text)
            return connection.recv(1 << 20)
    except OSError:
        return b""
