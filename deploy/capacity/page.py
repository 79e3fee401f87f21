"""A plan as one HTML file that needs no network."""

import math
from html import escape

import plots
import text
from inputs import MAXIMUM_ROLES, plain

_STYLE = """
body { font: 15px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff }
table { border-collapse: collapse; width: 100%; margin: 0 0 1.5rem }
td, th { padding: .2rem .6rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top }
td.number { text-align: right; white-space: nowrap } td.formula { color: #555 }
.hit { color: #c53030; font-weight: bold } .measured { color: #2f855a } .assumed { color: #c05621 }
svg { display: block; width: 100%; margin: 1rem 0 2rem }
"""


def page(plan, hour=None, curve=None):
    """The whole file. `hour` and `curve` are there where they were asked for."""
    users = plain(plan.given["users"])
    body = [f"<h1>Capacity for {users} users</h1>", *_verdict(plan)]
    body += [_limits(plan), _roles(plan), _cpu(plan), _memory(plan), _money(plan)]
    if curve:
        body += ["<h2>Response time</h2>", *_curve(curve)]
    if hour:
        body += ["<h2>The busiest hour</h2>", *_hour(hour)]
    body += ["<h2>Numbers and formulas</h2>", *_quantities(plan), "<h2>What they are made of</h2>", _inputs(plan)]
    return "\n".join(['<!DOCTYPE html>', '<html xmlns="http://www.w3.org/1999/xhtml" lang="en">',
                      f'<head><meta charset="utf-8"/><title>Capacity for {users} users</title>',
                      f"<style>{_STYLE}</style></head>", "<body>", *body, "</body>", "</html>", ""])


def _verdict(plan):
    lines = [f'<p class="hit">{escape(each.title)}: {plain(each.used)} of {plain(each.allowed)}{each.unit}. '
             f"{escape(each.way_out)}.</p>" for each in plan.hit]
    return lines or [f"<p>{plain(plan['workers'])} worker(s) on {plain(plan['hosts'])} hosts, "
                     f"{plain(plan['redis_primaries'])} Redis with two replicas each, {plan.roles} role(s), "
                     f"{plan['dollars']:,.2f} $ a day.</p>"]


def _limits(plan):
    return plots.bars("Limits at peak", [(each.title, [("used", 100 * each.share)]) for each in plan.limits], "%",
                      (100, "all of it"))


def _roles(plan):
    """STS calls for less and more users, beside what one to several roles allow."""
    users, quota = plan.given["users"], plan.given["sts_quota"]
    steps = [users * step / 12 for step in range(1, 25)]
    calls = [(each / 1e6, plan["sts_peak"] * each / users) for each in steps]
    allowed = [(each / 1e6, quota * min(MAXIMUM_ROLES, max(1, math.ceil(plan["sts_peak"] * each / users / quota))))
               for each in steps]
    return plots.lines("STS calls at peak, and what as many roles as are needed allow",
                       [("calls", calls), ("allowed", allowed)], "million users", "calls/s", [(users / 1e6, "the plan")])


def _cpu(plan):
    rows = [(title, [(kind, 1000 * plan[f"{role}_{kind}"]) for kind in ("vends", "uploads", "renewals", "wakes")])
            for role, title in (("worker", "workers"), ("nginx", "nginx"), ("redis", "Redis"))]
    return plots.bars("CPU at peak", rows, "thousandths of a core")


def _memory(plan):
    parts = [(title, plan[f"redis_{name}"]) for title, name in
             (("users' records", "records"), ("windows of limits", "limits"), ("shared credentials", "credentials"),
              ("audit lines", "audit_stream"), ("events", "event_stream"))]
    return plots.bars("Memory of Redis", [("in all", parts)], "GB")


def _money(plan):
    rows = [(title, [("$", plan[f"dollars_{name}"])]) for title, name in
            (("S3, renewals", "copies"), ("S3, uploads", "uploads"), ("hosts", "hosts"), ("Redis", "redis"))]
    return plots.bars("Dollars a day", rows, "$")


def _curve(curve):
    series = [(name, [(each.rate, getattr(each, name) / 1000) for each in curve]) for name in ("p50", "p99")]
    yield plots.lines(f"Response time with {curve[0].workers} worker(s)", series, "requests/s", "ms")


def _hour(hour):
    for each in hour.queues:
        settled = "never settled" if each.settled is None else f"settled at {each.settled / 60:.1f} min"
        yield plots.lines(f"{each.title}: greatest {plain(round(each.greatest, 3))} {each.unit}, {settled}",
                          [(each.title, [(at / 60, value) for at, value in each.course])], "minutes", each.unit,
                          [(at / 60, what) for at, what in hour.events])
    yield "<ul>" + "".join(f"<li>{at // 60}:{at % 60:02} {escape(what)}</li>" for at, what in hour.events) + "</ul>"


def _quantities(plan):
    for title, quantities in text.groups(plan):
        rows = "".join(f'<tr><td>{escape(each.title)}</td><td class="number">'
                       f'{escape(text.amount(each.value, each.unit))}</td><td class="formula">{escape(each.formula)}</td></tr>'
                       for each in quantities)
        yield f"<h3>{escape(title)}</h3><table>{rows}</table>"


def _inputs(plan):
    rows = "".join(f'<tr><td class="{each.origin}">{each.origin}</td><td>{escape(each.name)}</td><td class="number">'
                   f"{escape(text.input_amount(each))}</td><td>{escape(each.source)}</td></tr>"
                   for each in plan.all_inputs())
    return f"<table>{rows}</table>"
