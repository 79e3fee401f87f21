"""Starting and stopping processes, and what the kernel says they used."""

import ctypes
import os
import pathlib
import signal
import subprocess
import time

_libc = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


class NotMeasured(Exception):
    """Something could not be measured; the text says what and why."""


class Process:
    """A process this run started. Nothing else is ever signalled."""

    def __init__(self, name, arguments, log, environment=None):
        self.name = name
        self.log = pathlib.Path(log)
        with open(self.log, "wb") as output:
            self._popen = subprocess.Popen(
                [str(argument) for argument in arguments],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env={**os.environ, **(environment or {})},
                start_new_session=True, preexec_fn=_end_with_parent)
        self.pid = self._popen.pid

    def running(self):
        return self._popen.poll() is None

    def wait(self, seconds):
        """Its status, once it has ended by itself; raises `subprocess.TimeoutExpired`."""
        return self._popen.wait(seconds)

    def ask_to_stop(self):
        if self.running():
            self._popen.terminate()

    def stop(self, seconds=3):
        """SIGTERM, and SIGKILL after so many seconds."""
        self.ask_to_stop()
        try:
            self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()

    def last_words(self):
        lines = self.log.read_text(errors="replace").splitlines()[-3:]
        return " | ".join(lines) or "it logged nothing"


def _end_with_parent():
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def wait_until(ready, process, seconds=5):
    """Polls `ready()` until it is true; raises when the process ends or the time is up."""
    deadline = time.monotonic() + seconds
    while not ready():
        if not process.running():
            raise NotMeasured(f"{process.name} ended: {process.last_words()}")
        if time.monotonic() > deadline:
            raise NotMeasured(f"{process.name} is not ready after {seconds} s: {process.last_words()}")
        time.sleep(0.01)


def only_child(pid):
    """The one child of an nginx master: its worker. None while there is not exactly one."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0]) if len(children) == 1 else None


def cpu_by_thread(pid):
    """Nanoseconds of CPU time per thread of a process: {thread: nanoseconds}."""
    used = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            used[task.name] = int((task / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            pass
    return used


def memory_megabytes(pid, field="VmRSS"):
    """Resident memory in MB (10^6 bytes): `VmRSS` now, `VmHWM` the most there ever was."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024 / 1e6
    raise NotMeasured(f"/proc/{pid}/status has no {field}")
