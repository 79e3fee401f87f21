"""A FastCGI client for one request: the question "does it answer yet?"."""

import socket
import struct

_BEGIN, _END, _PARAMS, _STDIN, _STDOUT = 1, 3, 4, 5, 6


def _record(kind, content):
    return struct.pack(">BBHHBB", 1, kind, 1, len(content), 0, 0) + content


def _get(path):
    parameters = {"REQUEST_METHOD": "GET", "REQUEST_URI": path, "CONTENT_LENGTH": "", "CONTENT_TYPE": "",
                  "REMOTE_ADDR": "127.0.0.1"}
    pairs = b"".join(bytes([len(name), len(value)]) + name.encode() + value.encode()
                     for name, value in parameters.items())
    return (_record(_BEGIN, struct.pack(">HB5x", 1, 0)) + _record(_PARAMS, pairs) + _record(_PARAMS, b"")
            + _record(_STDIN, b""))


def answers(path, route="/healthz"):
    """True when the listener on the unix socket `path` responds to a GET of `route` with 200. Never waits over 2 s."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(2)
        try:
            connection.connect(str(path))
            connection.sendall(_get(route))
            received = b""
            while _status(received) is None and (chunk := connection.recv(65536)):
                received += chunk
        except OSError:
            return False
    return _status(received) == 200


def _status(received):
    """The HTTP status in the STDOUT records, None before the record that ends the request."""
    output, ended, offset = b"", False, 0
    while offset + 8 <= len(received):
        _, kind, _, length, padding, _ = struct.unpack_from(">BBHHBB", received, offset)
        if kind == _STDOUT:
            output += received[offset + 8:offset + 8 + length]
        ended = ended or kind == _END
        offset += 8 + length + padding
    if not ended:
        return None
    for line in output.split(b"\r\n\r\n")[0].split(b"\r\n"):
        if line.lower().startswith(b"status:"):
            return int(line[7:].split()[0])
    return 200 if output else 500
