# shellcheck shell=bash
# For sourcing: free ports on 127.0.0.1.

# choose_ports SPEC…: one free port per SPEC on a line of its own. SPEC is PREFERRED or PREFERRED+OFFSET; with an
# offset the port that much higher must be free as well. When the preferred one is taken, the next free ones above it;
# all stay below 32768, where the kernel starts to hand out numbers for outgoing connections.
choose_ports() {
    python3 - "$@" <<'PYTHON'
import socket
import sys


def free(port):
    with socket.socket() as probe:
        # As servers do it: connections that are fading away do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False


taken = set()
for spec in sys.argv[1:]:
    preferred, _, offset = spec.partition("+")
    offsets = [0] + ([int(offset)] if offset else [])
    for port in range(int(preferred), int(preferred) + 100):
        wanted = [port + offset for offset in offsets]
        if all(p < 32768 and p not in taken and free(p) for p in wanted):
            taken.update(wanted)
            print(port)
            break
    else:
        sys.exit(f"no free port from {preferred} to {int(preferred) + 99}")
PYTHON
}
