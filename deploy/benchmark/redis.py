"""Redis servers on ports of 127.0.0.1, with nothing on disk, and commands to these and to others."""

import socket

from processes import NotMeasured, wait_until


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


class RedisCounter:
    """A server on a unix socket: what it has counted, commands within scripts included, and commands to it."""

    def __init__(self, path):
        self._path = str(path)

    def commands(self):
        return self.figure("stats", "total_commands_processed")

    def figure(self, section, name):
        """A number of INFO."""
        return int(self.info(section, name))

    def info(self, section, name):
        text = self.ask("INFO", section).decode()
        return next(line.partition(":")[2] for line in text.splitlines() if line.startswith(name + ":"))

    def ask(self, *words):
        """A number, or the bytes of a string; an array as the bytes of its strings."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            connection.connect(self._path)
            connection.sendall(b"*%d\r\n" % len(words) + b"".join(
                b"$%d\r\n%s\r\n" % (len(each), each) for each in (
                    word if isinstance(word, bytes) else str(word).encode() for word in words)))
            with connection.makefile("rb") as stream:
                return _reply(stream)


def _reply(stream):
    kind, rest = (line := stream.readline())[:1], line[1:].rstrip()
    if kind == b":":
        return int(rest)
    if kind == b"$":
        return stream.read(int(rest) + 2)[:-2] if int(rest) >= 0 else None
    if kind == b"*":
        return [_reply(stream) for _ in range(int(rest))]
    if kind == b"+":
        return rest
    raise NotMeasured(f"Redis says {line!r}")
