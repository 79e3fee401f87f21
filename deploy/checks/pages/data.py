"""Blocks of JSON, of HTTP messages with JSON in them, and of YAML for Prometheus."""

import json
import re
import shutil
import subprocess
import tempfile

import markdown


def json_fault(texts):
    try:
        for text in texts:
            json.loads(text)
    except ValueError as error:
        return str(error)
    return None


def prometheus_fault(text):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        # The rules are checked where they are, in deploy/alerts.
        file.write(re.sub(r"/etc/prometheus/cloakroom/", f"{markdown.ROOT}/deploy/alerts/", text))
        file.flush()
        result = subprocess.run(["promtool", "check", "config", file.name], capture_output=True, text=True)
        return None if result.returncode == 0 else result.stderr.strip()


def faults():
    found = []
    for page in markdown.manual():
        for block in page.blocks:
            wrong = None
            if block.language in ("json", "http"):
                wrong = json_fault(re.findall(r"^\{.*\}$", block.text, re.MULTILINE) if block.language == "http" else [block.text])
            elif block.language == "yaml" and shutil.which("promtool"):
                wrong = prometheus_fault(block.text)
            if wrong:
                found.append(f"{markdown.place(block)}: {wrong}")
    return found
