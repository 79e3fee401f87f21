"""Names in spans of code: settings, paths, metrics, the doctor's checks, log lines. Alerts are deploy/checks/alerts' own."""

import os
import re

import markdown
import shell

FILES = (".conf", ".json", ".json5", ".log", ".md", ".pem", ".prom", ".service", ".sock", ".timer", ".yaml")


def keys():
    """Of the table in Settings.md, each a tuple; NAME stands for any word, [] for nothing."""
    page = markdown.Page(markdown.FOLDER / "Settings.md")
    table = re.findall(r"^\| `([^`]+)` \|", page.text.split("<!-- settings -->")[1], re.MULTILINE)
    return [tuple(key.replace("[]", "").split(".")) for key in table]


def is_key(name, known):
    words = name.replace("[]", "").split(".")
    def fits(key):
        return len(words) <= len(key) and all(a == b or "NAME" in (a, b) for a, b in zip(words, key))
    return any(fits(key) for key in known)


def unknown_names(pages):
    known = keys()
    sections = {key[0] for key in known}
    for page in pages:
        for span in page.code_spans():
            name = re.match(r"([a-z]\w*(?:\.\w+(?:\[\])?)+)(?::|$)", span.text)
            if name and name[1].split(".")[0] in sections and not name[1].endswith(FILES) and not is_key(name[1], known):
                yield f"{markdown.place(span)}: there is no setting {name[1]}"
            path = re.fullmatch(r"(deploy|nginx|Sources|Tests)/[\w./+-]+", span.text)
            if path and not (markdown.ROOT / span.text).exists():
                yield f"{markdown.place(span)}: there is no {span.text}"


def sources():
    return "\n".join(
        path.read_text(encoding="utf-8") for path in sorted((markdown.ROOT / "Sources").rglob("*.swift")))


def observability(pages):
    swift = sources()
    page = markdown.Page(markdown.FOLDER / "Observability.md")
    counted = set(re.findall(r'"(cloakroom_[a-z_]+)"', swift))
    for name in sorted(counted - set(re.findall(r"`(cloakroom_[a-z_]+)`", page.text))):
        yield f"Observability.md does not have the metric {name}"
    for other in pages:
        for span in other.code_spans():
            if re.fullmatch(r"cloakroom_[a-z_]+[a-z]", span.text) and span.text not in counted:
                yield f"{markdown.place(span)}: there is no metric {span.text}"
    for span in page.code_spans():
        if " " in span.text and not re.match(r"(cloakroom|systemctl|GET) ", span.text) and f'"{span.text}"' not in swift:
            yield f"{markdown.place(span)}: there is no such log line"


def doctor():
    text = shell.help_of(os.environ["CLOAKROOM_WORKER"], "doctor") or ""
    checks = re.search(r"^Checks:\n((?:  .*\n)+)", text, re.MULTILINE)
    known = set(re.findall(r"^  (\w+)", checks[1], re.MULTILINE)) if checks else set()
    page = markdown.Page(markdown.FOLDER / "Doctor.md")
    told = set(re.findall(r"^\| `(\w+)` \|", page.text, re.MULTILINE))
    return [f"the check {name} is either the doctor's or in Doctor.md" for name in sorted(known ^ told)]


def faults():
    pages = markdown.manual()
    return [*unknown_names(pages), *observability(pages), *doctor()]
