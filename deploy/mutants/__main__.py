"""The command. Called by deploy/mutation, which explains the options."""

import argparse
import concurrent.futures
import fcntl
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

import mutants
import report
from mutants import Equivalents, Map, WrongInput
from runs import Reach, Tests, verdict
from tree import Tree

# Some do not compile; of those that do, the first ones are used.
_SPARE = 1.35
_LONG = 12  # seconds of a suite


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise WrongInput(message)


def _parsed(words):
    parser = _Parser(prog="deploy/mutation", add_help=False, allow_abbrev=False)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", default="")
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--goal", type=float, default=0.05)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--leave-out", action="append", default=[])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--package", type=pathlib.Path, required=True)
    parser.add_argument("--map", type=pathlib.Path)
    parser.add_argument("--state", type=pathlib.Path, required=True)
    given = parser.parse_args(words)
    if given.count < 1 or given.jobs < 1 or not 0 <= given.goal <= 1:
        raise WrongInput("--count and --jobs are 1 or more, and --goal is a share from 0 to 1")
    given.map = given.map or given.package / "deploy/mutants/map.json"
    return given


class Campaign:
    """One draw of one commit: what is known of it is in a folder of its own, so that it can be ended and taken up again."""

    def __init__(self, given):
        self.given = given
        self.map = Map.read(given.map)
        if given.folder:
            within = given.folder.rstrip("/")
            self.map = Map(**{**vars(self.map), "folders": {
                **{each: tests for each, tests in self.map.folders.items() if f"{each}/".startswith(within + "/")},
                **({within: self.map.tests(within + "/")} if self.map.folder(within + "/") else {})}})
            if not self.map.folders:
                raise WrongInput(f"--folder {given.folder}: {given.map} has no such folder")
        self.commit = self._git("rev-parse", "--verify", given.commit + "^{commit}")
        if given.commit == "HEAD" and self._git("status", "--porcelain", "--untracked-files=no"):
            _say("what is not committed is not measured")
        self.equivalents = Equivalents(given.map.with_name("equivalent.json"))
        self.state = given.state / "mutation"
        name = f"{self.commit[:12]}-seed-{given.seed}-count-{given.count}"
        if given.folder:
            name += "-" + given.folder.rstrip("/").replace("/", "-")
        self.folder = self.state / "campaigns" / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.tree = Tree(given.package, self.state, given.jobs)
        self._lock = threading.Lock()

    def _git(self, *words):
        done = subprocess.run(["git", *words], cwd=self.given.package, capture_output=True, text=True)
        if done.returncode:
            raise WrongInput(f"git {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout.strip()

    def draw(self, tree):
        tree.copy(self.commit)
        every = mutants.find(mutants.finder(self.state), tree.folder, tree.files(self.map), self.map)
        self.places = len(every)
        # Those known to be equivalent are drawn besides.
        self.drawn = mutants.draw(every, self.given.seed, round(self.given.count * _SPARE) + 2)

    def build(self):
        """All in one build, unless the last one was this."""
        mark, known = self.state / "built", self.folder / "invalid.json"
        names = json.dumps([self.folder.name, [each.key for each in self.drawn]])
        if known.exists() and mark.exists() and mark.read_text() == names:
            self.invalid = set(json.loads(known.read_text()))
        else:
            mark.unlink(missing_ok=True)
            _say(f"building with {len(self.drawn)} of {self.places} mutants behind one switch")
            self.invalid = self.tree.build(self.drawn, self.map, _say)
            known.write_text(json.dumps(sorted(self.invalid)))
            mark.write_text(names)
        # In the order of the draw, until there are enough that compile.
        self.judged, self.skipped = [], []
        for mutant in self.drawn:
            if sum(not self.equivalents.reason(each) for each in self.judged) == self.given.count:
                break
            (self.skipped if mutant.number in self.invalid else self.judged).append(mutant)

    def record(self, modules):
        """Runs each suite alone, without a mutant on, unless it was."""
        suites = self.tests.suites()
        open_ = [each for module in modules for each in suites.get(module, []) if each not in self.reach.suites]
        if not open_:
            return
        _say(f"noting which mutants {len(open_)} suites reach")
        began = time.monotonic()
        # Those that need the machine for themselves run one after the other.
        alone = any(self.map.width.get(module) == 1 for module in modules)
        with concurrent.futures.ThreadPoolExecutor(1 if alone else self.given.jobs) as pool:
            for done, _ in enumerate(pool.map(lambda suite: self.reach.record(self.tests, suite), open_), 1):
                _progress(f"{done} of {len(open_)} suites", began, done / len(open_))
                if done % 20 == 0:
                    self.reach.save()
        self.reach.save()

    def run(self):
        self.tests = Tests(self.tree.programs, self.map)
        self.reach = Reach(self.folder / "reach.json")
        early = [each for each in self.tests.suites() if each not in (*self.map.later, *self.given.leave_out)]
        log = self.folder / "results.jsonl"
        self.results = {}
        if log.exists():
            for each in map(json.loads, log.read_text().splitlines()):
                self.results.setdefault(each["key"], {})[each["stage"]] = each
        later = [each for each in self.map.later if not self.given.quick and each not in self.given.leave_out]
        # What takes long runs against what all else lets live.
        stages = [("early", early, lambda seconds: seconds < _LONG), *((each, [each], lambda _: True) for each in later),
                  ("long", early, lambda seconds: seconds >= _LONG)]
        try:
            for stage, modules, takes in stages:
                left = [each for each in self.judged if not self.equivalents.reason(each) and not self._killed(each)]
                waiting = [each for each in left if stage not in self.results.get(each.key, {})]
                if waiting:
                    self.record(modules)
                    self._stage(stage, modules, takes, waiting, log)
        except KeyboardInterrupt:
            self.tests.stop()
            raise

    def _killed(self, mutant):
        return next((each["by"] for each in self.results.get(mutant.key, {}).values() if each["by"]), None)

    def _stage(self, stage, modules, takes, waiting, log):
        _say(f"{stage}: {len(waiting)} mutants")
        began = time.monotonic()
        alone = any(self.map.width.get(module) == 1 for module in modules)
        counts = {"killed": 0, "survived": 0}

        def judge(mutant):
            own = [each for each in self.map.tests(mutant.file) if each in modules]
            by, seconds = verdict(mutant, self.tests, self.reach, own + [each for each in modules if each not in own], takes,
                                  _say)
            return {"key": mutant.key, "number": mutant.number, "place": mutant.place, "change": mutant.change,
                    "stage": stage, "by": by, "seconds": round(seconds, 1),
                    "reached": any(each.partition(".")[0] in modules for each in self.reach.of(mutant.number))}

        with concurrent.futures.ThreadPoolExecutor(1 if alone else self.given.jobs) as pool, log.open("a") as file:
            futures = [pool.submit(judge, mutant) for mutant in waiting]
            try:
                for done, future in enumerate(concurrent.futures.as_completed(futures), 1):
                    result = future.result()
                    self.results.setdefault(result["key"], {})[stage] = result
                    file.write(json.dumps(result, ensure_ascii=False) + "\n")
                    file.flush()
                    counts["killed" if result["by"] else "survived"] += 1
                    if not result["by"]:
                        _say(f"{'survived' if result['reached'] else 'not reached'}: {result['place']}: {result['change']}")
                    _progress(f"{counts['killed']} killed, {counts['survived']} survived, {len(waiting) - done} left",
                              began, done / len(waiting))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self.tests.stop()
                raise

    def report(self):
        outcomes = []
        seconds = 0.0
        for mutant in sorted([*self.judged, *self.skipped], key=lambda each: each.number):
            results = self.results.get(mutant.key, {}).values()
            seconds += sum(each["seconds"] for each in results)
            if mutant.number in self.invalid:
                outcomes.append((mutant, "invalid", "does not compile"))
            elif reason := self.equivalents.reason(mutant):
                outcomes.append((mutant, "equivalent", reason))
            elif by := self._killed(mutant):
                outcomes.append((mutant, "killed", by))
            else:
                reached = any(each["reached"] for each in results)
                outcomes.append((mutant, "survived", "tests reach it" if reached else "no test reaches it"))
        failing = [f"{name}: fails without a mutant: {each['failure']}"
                   for name, each in self.reach.suites.items() if each["failure"]]
        failing += [f"the tests of {module}: --quick" for module in self.map.later if self.given.quick]
        failing += [f"the tests of {module}: what they need is not here, or --leave-out" for module in self.given.leave_out]
        return report.summary(
            {"commit": self.commit, "seed": self.given.seed, "count": self.given.count, "folder": self.given.folder,
             "goal": self.given.goal, "minutes": round(seconds / 60, 1), "left_out": failing}, outcomes)


_terminal = sys.stderr.isatty()


def _say(what):
    print(("\r\033[K" if _terminal else "") + what, file=sys.stderr, flush=True)


def _progress(what, began, share):
    if _terminal:
        left = (time.monotonic() - began) * (1 / share - 1)
        print(f"\r\033[K{what}, {left / 60:.0f} min", end="" if share < 1 else "\n", file=sys.stderr, flush=True)


def main(words):
    given = _parsed(words)
    campaign = Campaign(given)
    if given.list:
        with tempfile.TemporaryDirectory(prefix="cloakroom-mutation.") as folder:
            campaign.draw(Tree(given.package, pathlib.Path(folder), given.jobs))
        for mutant in campaign.drawn[:given.count]:
            print(f"{mutant.place}: {mutant.kind}: {mutant.change}")
        return 0
    lock = (campaign.state / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise WrongInput(f"another deploy/mutation runs in {campaign.state}") from None
    campaign.draw(campaign.tree)
    campaign.build()
    campaign.run()
    result = campaign.report()
    print(report.text(result))
    report.write(result, campaign.folder / "report.json")
    if given.json:
        report.write(result, given.json)
    return 0 if result["survived_share"] is None or result["survived_share"] <= given.goal else 1


def _stop(*_):
    raise KeyboardInterrupt


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        sys.exit(main(sys.argv[1:]))
    except WrongInput as error:
        print(f"deploy/mutation: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("\nended; the same call goes on from here", file=sys.stderr)
        sys.exit(130)
