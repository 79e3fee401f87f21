"""The command. Called by deploy/simulate, which explains the options."""

import json
import pathlib
import sys

import inputs
import page
import queueing
import text
from hour import SECONDS, Hour
from inputs import WrongInput
from plan import Plan

_SWITCHES = ("json", "hour", "even")
_VALUES = ("costs", "html")
_OF_AT = ("workers", "quota", "generator", "even")


def _parsed(arguments):
    """Texts of the command line by name."""
    known = {each.name for each in [*inputs.OPTIONS, *inputs.MORE_OPTIONS]} | {*_SWITCHES, *_VALUES}
    given = {}
    words = list(arguments)
    while words:
        word = words.pop(0)
        name = word.removeprefix("--").replace("-", "_")
        if not word.startswith("--") or name not in known:
            raise WrongInput(f"unknown option {word!r}")
        if name in given:
            raise WrongInput(f"{word} stands twice")
        if name in _SWITCHES:
            given[name] = "yes"
            continue
        if not words:
            raise WrongInput(f"{word} needs a value")
        given[name] = words.pop(0)
    stray = [each for each in _OF_AT if each in given]
    if stray and "at" not in given:
        raise WrongInput(f"--{stray[0]} is for --at")
    if "at" in given and "hour" in given and "html" not in given:
        raise WrongInput("--at and --hour exclude each other, but for --html")
    return given


def _load(given, more, plan):
    value = {name: each.value for name, each in more.items()}
    return queueing.Load(
        rate=value["at"], workers=int(value.get("workers", plan["workers"])), cached=plan.given["cached"],
        cores=int(plan.given["cores"]), quota=value["quota"], generator=value["generator"], sts_ms=value["sts_ms"],
        even="even" in given, seed=int(value["seed"]), roles=int(plan.given.get("roles", inputs.MAXIMUM_ROLES)),
        sts_quota=plan.given["sts_quota"])


def _progress(second):
    if sys.stderr.isatty():
        print(f"\r{second // 60:>2} of {SECONDS // 60} minutes", end="" if second < SECONDS else "\n", file=sys.stderr,
              flush=True)


def _write(path, content):
    try:
        pathlib.Path(path).write_text(content)
    except OSError as error:
        raise WrongInput(f"--html {path}: {error.strerror}") from None


def main(arguments):
    given = _parsed(arguments)
    costs = inputs.Costs(given.get("costs", inputs.SHIPPED_COSTS))
    plan = Plan(inputs.read(given), costs)
    more = inputs.read(given, inputs.MORE_OPTIONS)
    prediction = hour = None
    if "at" in given:
        load = _load(given, more, plan)
        prediction = queueing.predicted(load, costs)
    if "hour" in given:
        hour = Hour(plan, int(more["seed"].value), more["sts_ms"].value, _progress)
    if "html" in given:
        _write(given["html"], page.page(plan, hour, queueing.curve(load, costs) if prediction else None))
    # What was asked for in particular stands alone.
    if prediction:
        shown, as_text = prediction.as_json(), text.prediction_text(prediction)
    elif hour:
        shown, as_text = hour.as_json(), text.hour_text(hour)
    else:
        shown, as_text = plan.as_json(), text.plan_text(plan)
    print(json.dumps(shown, indent=1, ensure_ascii=False) if "json" in given else as_text)
    if prediction or hour:
        return 1 if prediction and prediction.is_past_knee or hour and (hour.grows or plan.hit) else 0
    return 1 if plan.hit else 0


try:
    sys.exit(main(sys.argv[1:]))
except WrongInput as fault:
    print(f"deploy/simulate: {fault} (see deploy/simulate --help)", file=sys.stderr)
    sys.exit(2)
except (BrokenPipeError, KeyboardInterrupt):
    sys.exit(1)
