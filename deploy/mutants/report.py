"""What a campaign came to, as text and as JSON."""

import collections
import json

OUTCOMES = ("killed", "survived", "equivalent", "invalid")


def summary(campaign, outcomes):
    """
    - campaign: commit, seed, count, folder, goal, minutes, left_out.
    - outcomes: (mutant, outcome, by) of each, in the order of the draw.
    """
    def counts(group):
        table = collections.defaultdict(collections.Counter)
        for mutant, outcome, _ in outcomes:
            table[group(mutant)][outcome] += 1
        return {name: {each: table[name][each] for each in OUTCOMES if table[name][each]} for name in sorted(table)}

    def named(wanted):
        return [{"file": mutant.file, "line": mutant.line, "kind": mutant.kind, "source": mutant.source, "was": mutant.was,
                 "became": mutant.became, "why": why} for mutant, outcome, why in outcomes if outcome == wanted]

    total = collections.Counter(outcome for _, outcome, _ in outcomes)
    judged = total["killed"] + total["survived"]
    return {**campaign, "mutants": judged, **{each: total[each] for each in OUTCOMES},
            "survived_share": round(total["survived"] / judged, 4) if judged else None,
            "kinds": counts(lambda mutant: mutant.kind), "folders": counts(_folder),
            "survivors": named("survived"), "equivalents": named("equivalent")}


def _folder(mutant):
    return "/".join(mutant.file.split("/")[:3]) if mutant.file.count("/") > 2 else mutant.file.rpartition("/")[0]


def text(report):
    lines = [f"commit {report['commit']}, seed {report['seed']}, {report['minutes']} min", ""]
    for title in ("kinds", "folders"):
        lines.append(f"{title.capitalize()[:-1]:<40}" + "".join(f"{each:>11}" for each in OUTCOMES))
        for name, counts in report[title].items():
            lines.append(f"{name:<40}" + "".join(f"{counts.get(each, 0):>11}" for each in OUTCOMES))
        lines.append("")
    for title in ("survivors", "equivalents"):
        for each in report[title]:
            lines += [f"{title[:-1]}: {each['file']}:{each['line']}: {each['was']}  →  {each['became']}", f"    {each['why']}"]
    lines += [f"left out: {each}" for each in report["left_out"]]
    if report["survived_share"] is None:
        lines.append("no mutants")
    else:
        lines.append(f"{report['mutants']} mutants: {report['killed']} killed, {report['survived']} survived "
                     f"({report['survived_share']:.1%}; the goal is {report['goal']:.0%} at most); besides, "
                     f"{report['equivalent']} equivalent, {report['invalid']} not valid")
    return "\n".join(lines)


def write(report, path):
    path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
