"""Blocks of JSON, of HTTP messages with JSON in them, of JavaScript, of YAML for Prometheus, and of logrotate's files."""

import json
import pathlib
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


def javascript_fault(text):
    with tempfile.NamedTemporaryFile("w", suffix=".mjs") as file:
        file.write(text)
        file.flush()
        result = subprocess.run(["node", "--check", file.name], capture_output=True, text=True)
        return None if result.returncode == 0 else result.stderr.strip()


def prometheus_fault(text):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        # The rules are checked where they are, in deploy/alerts.
        file.write(re.sub(r"/etc/prometheus/cloakroom/", f"{markdown.ROOT}/deploy/alerts/", text))
        file.flush()
        result = subprocess.run(["promtool", "check", "config", file.name], capture_output=True, text=True)
        return None if result.returncode == 0 else result.stderr.strip()


def logrotate_fault(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        # A log to rotate: for one that is not there logrotate leaves the rest unread.
        (path / "audit.log").write_text("one line\n", encoding="utf-8")
        (path / "cloakroom").write_text(text.replace("/var/log/cloakroom/", f"{folder}/"), encoding="utf-8")
        command = ["logrotate", "--debug", "--force", "--state", f"{folder}/state", f"{folder}/cloakroom"]
        result = subprocess.run(command, capture_output=True, text=True)
        said = result.stdout + result.stderr
        errors = [line for line in said.splitlines() if line.startswith("error:")]
        if result.returncode == 0 and not errors and f"{folder}/audit.log" in said:
            return None
        return "\n".join(errors) or "logrotate finds no log in it"


def faults():
    found = []
    for page in markdown.manual():
        for block in page.blocks:
            wrong = None
            if block.language in ("json", "http"):
                wrong = json_fault(re.findall(r"^\{.*\}$", block.text, re.MULTILINE) if block.language == "http" else [block.text])
            elif block.language == "javascript" and shutil.which("node"):
                wrong = javascript_fault(block.text)
            elif block.language == "yaml" and shutil.which("promtool"):
                wrong = prometheus_fault(block.text)
            elif block.language == "logrotate" and shutil.which("logrotate"):
                wrong = logrotate_fault(block.text)
            if wrong:
                found.append(f"{markdown.place(block)}: {wrong}")
    return found
