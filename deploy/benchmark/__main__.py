"""The whole run within its time, and its report. Called by deploy/bench, which explains the options."""

import argparse
import fcntl
import json
import pathlib
import resource
import signal
import sys

import costs
import limits
import report
import stack
from bench import Bench
from processes import NotMeasured

# In seconds.
_LONGEST_RUN = {"all": 5400, "quick": 600, "retention": 1800, "model": 1500}
_LONGEST_OF_ONE = 900


class Stopped(BaseException):
    """A signal, or the time is up. Not an Exception: no step may take it for its own fault."""


def _report(bench, state, how):
    results = bench.results()
    lines = limits.lines(bench.values, bench.only, bench.smoke, bench.left_out) + [f"fault: {each}" for each in bench.faults]
    if results:
        print(f"\n{report.machine()}\n{how}\nCPU: CPU-seconds per 10,000 requests of worker (or floor), nginx, Redis\n")
        print(report.table(results))
    print("\n".join(["", *bench.notes, *lines]))
    # A run of one scenario leaves the report of the whole alone.
    suffix = f"-{bench.only}" if bench.only else ""
    chart = f"cpu{suffix}.svg"
    written = state / f"report{suffix}.md"
    written.write_text(report.markdown(results, lines, bench.notes, how, chart))
    (state / chart).write_text(report.chart(results))
    (state / f"results{suffix}.json").write_text(json.dumps(
        {"machine": report.machine(), "how": how, "values": bench.values, "faults": bench.faults,
         "scenarios": results, "rounds": bench.measured}, indent=1))
    print(f"\nreport: {written}")


_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGALRM)


def _stop(number, _):
    # The end, with its stopping and reporting, is not to be interrupted again.
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise Stopped("the time is up" if number == signal.SIGALRM else "stopped by a signal")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--state", type=pathlib.Path, required=True)
    parser.add_argument("--worker", default="")
    parser.add_argument("--scripted-s3", default="")
    parser.add_argument("--kit-bench", default="")
    parser.add_argument("--sample", default="")
    parser.add_argument("--tier-bench", default="")
    parser.add_argument("--message-bench", default="")
    parser.add_argument("--message-model", default="")
    parser.add_argument("--only")
    parser.add_argument("--instructions", action="store_const", const="instructions", dest="only")
    parser.add_argument("--save-costs", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--counter")
    parser.add_argument("--log-level", default="info")
    options = parser.parse_args()
    if options.save_costs:
        options.only = "costs"

    lock = open(options.state / "lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("another deploy/bench runs in this checkout", file=sys.stderr)
        return 1
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for number in _SIGNALS:
        signal.signal(number, _stop)
    signal.alarm(_LONGEST_RUN.get(options.only or ("quick" if options.quick else "all"), _LONGEST_OF_ONE))

    with stack.Stack(options.state, options.worker, options.scripted_s3, options.log_level,
                     options.kit_bench, options.sample, options.tier_bench, options.message_bench,
                     options.message_model) as parts:
        bench = Bench(parts, options.only, options.quick, options.counter, options.smoke)
        how = (f"{bench.rounds} rounds of {bench.seconds} s in turns, wrk -t1 -c64, "
               f"medians; CPU ratios are medians of pairs of neighbouring rounds; system calls counted by "
               f"{bench.counter}; worker's log level: {options.log_level}")
        if options.only == "instructions":
            how = f"instructions counted by callgrind; worker's log level: {options.log_level}"
        if options.only == "costs":
            how = (f"{bench.rounds} rounds of {bench.seconds} s in turns, wrk -t1 -c64, medians; "
                   f"worker's log level: {options.log_level}")
        if options.only == "retention":
            how = f"each step in a process of its own, from a copy of the same files; release_100: {how}"
        if options.only == "tiers":
            how = "each scenario in a process of its own, once; ratios of what was done in turns"
        try:
            bench.run()
        except Stopped as reason:
            bench.faults.append(str(reason))
    bench.compare()
    _report(bench, options.state, how)
    if options.save_costs and bench.costs and not bench.faults:
        options.save_costs.write_text(costs.document(report.machine(), how, *bench.costs))
        print(f"costs: {options.save_costs}")
    unmeasured = bench.faults or any(
        name not in bench.values for name, *_ in limits.expected(options.only, options.smoke, bench.left_out))
    return 1 if unmeasured else 0


try:
    sys.exit(main())
except (NotMeasured, OSError, Stopped) as fault:
    print(f"deploy/bench: {fault}", file=sys.stderr)
    sys.exit(1)
