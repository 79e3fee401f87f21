"""What deploy/simulate says of a rate, beside what `cloakroom load` measures there: two workers with a tenth of a core each."""

import json
import os
import pathlib
import statistics
import subprocess
import sys

import generator
from processes import NotMeasured, cpu_by_thread
from redis import RedisCounter

_SHARES = (0.3, 0.6, 0.9)       # of the knee
_ROUNDS = 5                     # of each, in turn: a p99 of one run is as much the machine's as the stack's
_WORKERS = 2
_QUOTA = 0.1                    # of a core, for each worker
_PERIOD = 100_000               # µs
_USERS = 64
_WARM_UP_RATE = 200
_FIRST_RATE = 1_000
# An overload of a tenth makes requests wait a tenth of a second longer with each second.
_STEP = "10s"
# Where a quota is used up before a period ends, requests wait for the next one: for much longer than that, from one rate to the
# next, so that a hundredth more CPU than was predicted is a time twice as long. An operator adds workers before that.
_BARS = "p99>5ms,errors>0.1%"
_SIMULATE = pathlib.Path(__file__).parent.parent / "simulate"


class _Quotas:
    """A share of a core for each of some processes, until the end of a `with`."""

    def __init__(self, pids):
        self._pids = pids
        self._groups = []

    def __enter__(self):
        """Whether the kernel allows it here."""
        try:
            for pid in self._pids:
                self._limit(pid)
        except OSError:
            self.__exit__()
            return False
        return True

    def _limit(self, pid):
        # cgroup v1 has a folder for each controller, v2 one for all.
        root = pathlib.Path("/sys/fs/cgroup")
        group = (root / "cpu" if (root / "cpu").is_dir() else root) / f"cloakroom-bench-{pid}"
        group.mkdir()
        self._groups.append(group)
        runtime = round(_QUOTA * _PERIOD)
        if (group / "cpu.cfs_quota_us").exists():
            (group / "cpu.cfs_period_us").write_text(str(_PERIOD))
            (group / "cpu.cfs_quota_us").write_text(str(runtime))
        else:
            (group / "cpu.max").write_text(f"{runtime} {_PERIOD}")
        (group / "cgroup.procs").write_text(str(pid))

    def __exit__(self, *_):
        for group in self._groups:
            parent = group.parent / "cgroup.procs"
            try:
                for pid in (group / "cgroup.procs").read_text().split():
                    parent.write_text(pid)
                group.rmdir()
            except OSError as fault:
                print(f"{group} could not be removed: {fault}", file=sys.stderr)


def error_max(parts, upstream, redis_socket, costs_file, seconds):
    """(the largest share by which p50, p99, CPU or Redis' commands differ, notes)"""
    if not parts.worker:
        raise NotMeasured("model: there is no worker")
    names = [f"model-{number}" for number in range(1, _WORKERS + 1)]
    workers = [parts.start_worker(each, upstream) for each in names]
    port = parts.start_front_of_several("model", names)
    redis = RedisCounter(redis_socket)
    with _Quotas([each.pid for each in workers]) as is_limited:
        def load(rate, *options):
            return generator.open_loop(parts, names[0], port, rate, "--users", _USERS, "--warm-up", "0s", *options)
        load(_WARM_UP_RATE, "--duration", "2s")         # until each worker has everybody's credentials
        knee = _knee(lambda rate: load(rate, "--duration", _STEP, "--fail-if", _BARS))
        notes, worst = [], 0
        rounds = {share: [] for share in _SHARES}
        for _ in range(_ROUNDS):
            for share, found in rounds.items():
                found.append(_measured(round(knee * share), load, redis, workers, seconds))
        for share, found in rounds.items():
            rate = round(knee * share)
            measured = {name: statistics.median(each[name] for each in found) for name in found[0]}
            model = _predicted(rate, costs_file, measured.pop("generator"), is_limited)
            errors = {name: abs(model[name] - value) / value for name, value in measured.items()}
            worst = max(worst, *errors.values())
            notes.append(f"model at {share:.0%} of the knee, {rate}/s: " + ", ".join(
                f"{name} {model[name]:,.2f} for {value:,.2f} ({errors[name]:.0%})" for name, value in measured.items())
                + " (times in µs, CPU of the workers in cores, commands a second).")
    if not is_limited:
        notes.append("model: no quota of CPU can be set here, so the knee is that of all processes on this machine.")
    return worst, notes


def _measured(rate, load, redis, workers, seconds):
    """Times in µs, busy cores of the workers, commands of Redis a second, and the generator's µs of CPU a request, of one run."""
    def measured_load():
        before = redis.commands(), _cpu(workers)
        report = load(rate, "--duration", f"{seconds}s")
        return report, (report["generator"], redis.commands() - before[0], (_cpu(workers) - before[1]) / 1e9)
    step, (own, commands, cpu) = generator.valid(f"model: at {rate}/s", measured_load)
    return {"p50": step["latency"]["p50"] * 1000, "p99": step["latency"]["p99"] * 1000, "CPU": cpu / step["requests"] * rate,
            "Redis commands": commands / step["requests"] * rate, "generator": own["cpuMicrosecondsPerRequest"]}


def _knee(load):
    """The highest rate found to keep the bars, to a tenth. What `--find-knee` shows three times, to a twentieth, does not come to
    an end under a quota: runs of ten seconds at the knee differ. Here it says only where the loads are that are compared."""
    good, bad = None, None
    rate = _FIRST_RATE
    while good is None or bad is None or bad > good * 1.1:
        report = load(rate)
        # Far beyond it the generator has too many open requests to send more.
        if any(each["broken"] for each in report["bars"]):
            bad = rate
        elif report["valid"]:
            good = rate
        else:
            raise NotMeasured(f"model: {rate}/s: {'; '.join(report['doubts'])}")
        if not 100 <= rate <= 100_000:
            raise NotMeasured(f"model: no knee was found: {rate}/s {'keeps' if good == rate else 'breaks'} the bars")
        rate = round((good + bad) / 2) if good and bad else 2 * rate if good else rate // 2
    return good


def _cpu(workers):
    return sum(sum(cpu_by_thread(each.pid).values()) for each in workers)


def _predicted(rate, costs_file, generator, is_limited):
    command = [_SIMULATE, "--at", rate, "--workers", _WORKERS, "--cached", 1, "--cores", os.cpu_count(),
               "--quota", _QUOTA if is_limited else 1, "--generator", generator, "--even", "--costs", costs_file, "--json"]
    finished = subprocess.run([str(each) for each in command], capture_output=True, text=True, timeout=120)
    try:
        found = json.loads(finished.stdout)
    except ValueError:
        raise NotMeasured(f"deploy/simulate: {finished.stderr.strip()[-200:]}") from None
    if found["past_knee"]:
        raise NotMeasured(f"model: {rate}/s is past its knee of {found['knee']:.0f}/s")
    return {"p50": found["p50"], "p99": found["p99"], "CPU": found["cpu"]["worker"],
            "Redis commands": found["redis_commands"]}
