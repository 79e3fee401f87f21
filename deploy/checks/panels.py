"""The panels of deploy/dashboards; deploy/checks/dashboards says what is done with them.

panels.py shape: what is wrong with the files
panels.py rules: each expression as a recording rule
panels.py query URL: which panels have no data in the Prometheus there
"""

import json
import math
import pathlib
import sys
import urllib.parse
import urllib.request

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "dashboards"
# In the place of Grafana's variables.
VALUES = {"$__rate_interval": "20s", "$job": ".+"}


def boards():
    return {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}


def expressions():
    """Each expression with its panel's name, as Prometheus reads it."""
    for name, board in boards().items():
        for panel in board["panels"]:
            for target in panel.get("targets", []):
                text = target["expr"]
                for variable, value in VALUES.items():
                    text = text.replace(variable, value)
                yield f"{name}: {panel['title']} ({target['legendFormat']})", text


def shape():
    """Numbers are used once, panels lie beside each other, and each has a unit and a description."""
    for name, board in boards().items():
        numbers = [panel["id"] for panel in board["panels"]]
        if len(set(numbers)) != len(numbers):
            yield f"{name}: two panels have one number"
        taken = set()
        for panel in board["panels"]:
            place = panel["gridPos"]
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
            if cells & taken or any(x >= 24 for x, _ in cells):
                yield f"{name}: {panel['title']} does not lie in a place of its own"
            taken |= cells
            if panel["type"] == "row":
                continue
            if not panel.get("description") or not panel["fieldConfig"]["defaults"].get("unit"):
                yield f"{name}: {panel['title']} has no description or no unit"
            if not panel.get("targets") or "$" not in panel["datasource"]["uid"]:
                yield f"{name}: {panel['title']} has no query, or a data source of one host"
            for target in panel.get("targets", []):
                if target["expr"].count('job=~"$job"') < target["expr"].count("cloakroom_"):
                    yield f"{name}: {panel['title']} shows other jobs, too"


def rules():
    groups = [{"name": "panels", "rules": [
        {"record": f"panel:{number}", "expr": text} for number, (_, text) in enumerate(expressions())]}]
    return json.dumps({"groups": groups})


def without_data(url):
    for name, text in expressions():
        query = urllib.parse.urlencode({"query": text})
        with urllib.request.urlopen(f"{url}/api/v1/query?{query}", timeout=10) as response:
            result = json.load(response)["data"]["result"]
        if not any(math.isfinite(float(series["value"][1])) for series in result):
            yield f"{name} has no data: {text}"


if __name__ == "__main__":
    if sys.argv[1] == "rules":
        print(rules())
        sys.exit()
    faults = list(shape() if sys.argv[1] == "shape" else without_data(sys.argv[2]))
    print("\n".join(faults))
    sys.exit(1 if faults else 0)
