"""Lines of shell: bash parses them, and what they call of ours exists, with its options."""

import functools
import os
import re
import shlex
import subprocess

import markdown

OPERATORS = set(";&|()<>\n")


@functools.cache
def help_of(*command):
    """The text, or `None` where there is no such command."""
    result = subprocess.run([*command, "--help"], capture_output=True, text=True, cwd=markdown.ROOT, stdin=subprocess.DEVNULL)
    return result.stdout if result.returncode == 0 else None


def subcommands(command, text):
    """Those that the usage lists (`lifecycle show|apply …`), or the section "Commands:" of the help."""
    usage = {word for words in re.findall(rf"cloakroom {command} ([a-z|-]+)\b", text.split("\n\n")[0])
             for word in words.split("|") if not word.startswith("-")}
    section = re.search(r"^Commands:\n((?:  .*\n)+)", text, re.MULTILINE)
    listed = set(re.findall(r"^  ([a-z-]+)\b", section[1], re.MULTILINE)) if section else set()
    return listed or usage


def fault_of_cloakroom(words, is_line):
    program = os.environ["CLOAKROOM_WORKER"]
    if not words or words[0] in ("--help", "--version"):
        return None
    text = help_of(program, words[0])
    if text is None:
        return f"there is no command {words[0]}"
    known = subcommands(words[0], text)
    if known:
        if len(words) < 2 or words[1] not in known:
            return f"cloakroom {words[0]} has no command {' '.join(words[1:2])}"
        text = help_of(program, words[0], words[1]) or text
    return unknown_option(words, text) or missing_settings(words, text, is_line)


def missing_settings(words, text, is_line):
    """A line runs as it stands, and so does a command in a sentence that names a user. Others in sentences are names."""
    takes = all(usage.endswith(" SETTINGS") for usage in re.findall(r"cloakroom .*(?:\n {12,}\S.*)*", text.split("\n\n")[0]))
    names_user = words[0] == "user" and any(not word.startswith("-") for word in words[2:])
    if takes and (is_line or names_user) and not any(re.search(r"\.json5$|^SETTINGS$", word) for word in words):
        return f"cloakroom {' '.join(words)} has no settings file"
    # That of deploy/run is in its folder of state.
    return "there is no settings.json5 in the checkout" if "settings.json5" in words else None


def fault_of_script(name, words):
    if not os.access(markdown.ROOT / name, os.X_OK):
        return f"there is no script {name}"
    options = [word for word in words if word.startswith("--")]
    return unknown_option(options, help_of(str(markdown.ROOT / name)) or "") if options else None


def unknown_option(words, text):
    for word in words:
        name = word.partition("=")[0]
        if name.startswith("--") and len(name) > 2 and not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text):
            return f"there is no option {name}"
    return None


def commands(script):
    """The words of every simple command, those within $(…) included."""
    for inner in re.findall(r"\$\(([^()]*)\)", script):
        yield from commands(inner)
    text = re.sub(r"\\\n", " ", script)
    text = re.sub(r"<<-?\s*['\"]?(\w+)['\"]?(.*\n)(?:.*\n)*?\s*\1\n", r"\2", text)
    # Comments, which may hold an apostrophe.
    text = re.sub(
        r"""('[^']*'|"(?:\\.|[^"\\])*"|\\.)|(?<!\S)\#[^\n]*""", lambda match: match[1] or "", text)
    reader = shlex.shlex(text, posix=True, punctuation_chars="".join(OPERATORS))
    reader.commenters, reader.whitespace, reader.whitespace_split = "", " \t\r", True
    words = []
    for word in [*reader, ";"]:
        if set(word) <= OPERATORS and not set(word) <= {"<", ">"}:
            yield words
            words = []
        elif words or not re.match(r"\w+=", word):
            words.append(word)


def fault_of_line(script, is_line=True):
    for words in commands(script):
        for index, word in enumerate(words):
            # Behind what runs a command: env, sudo, systemd-run, time.
            name = word.rsplit("/", 1)[-1]
            if name in ("cloakroom", "cloakroom.new") and (index == 0 or words[0] in ("env", "sudo", "systemd-run")):
                found = fault_of_cloakroom(words[index + 1:], is_line)
            elif word.startswith("deploy/") and index == 0:
                found = fault_of_script(word, words[1:])
            else:
                continue
            if found:
                return found
            break
    return None


def faults():
    found = []
    for page in markdown.manual():
        for block in page.blocks:
            if block.language == "sh":
                parsed = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True)
                wrong = parsed.stderr.strip() or fault_of_line(block.text)
                if wrong:
                    found.append(f"{markdown.place(block)}: {wrong}")
        for span in page.code_spans():
            # A command in a sentence; what is left out or stands for another word is not looked up.
            if re.match(r"(cloakroom [a-z]|deploy/\w+ --)", span.text) and "…" not in span.text:
                wrong = fault_of_line(span.text, is_line=False)
                if wrong:
                    found.append(f"{markdown.place(span)}: {wrong}")
    return found
