"""Blocks of json5 are settings files, or parts of one: each is laid over the least that a worker needs, and checked."""

import json
import os
import pathlib
import re
import subprocess
import tempfile

import markdown

LEAST = {
    "region": "eu-central-1",
    "bucket": "photos",
    "tokens": {"issuers": [{"issuer": "https://auth.example", "audiences": ["photos"], "secret": {"env": "SIGNING"}}]},
    "vending": {"roleARN": "arn:aws:iam::123456789012:role/cloakroom-session"},
    "uploads": {"keyPrefix": "assets/"},
}
TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/)|(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?P<word>[^\s{}\[\]:,"'/]+)"""
    r"|(?P<mark>[{}\[\]:,])", re.DOTALL)
TEMPLATE = {"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:${partition}:s3:::${bucket}/photos/${user}/*"}]}


def read(text):
    """The value of JSON5; without braces around them, the members of an object."""
    tokens, position = [], 0
    while position < len(text):
        match = TOKEN.match(text, position)
        if not match:
            raise ValueError(f"this is no JSON5: {text[position:position + 20]!r}")
        position = match.end()
        if match.lastgroup != "skip":
            tokens.append((match.lastgroup, match[0]))
    if tokens and tokens[0][1] != "{":
        tokens = [("mark", "{"), *tokens, ("mark", "}")]
    strict = []
    for index, (kind, token) in enumerate(tokens):
        following = tokens[index + 1][1] if index + 1 < len(tokens) else ""
        if kind == "string":
            inner = token[1:-1].replace('\\"', '"').replace('"', '\\"') if token[0] == "'" else token[1:-1]
            strict.append(f'"{inner}"')
        elif kind == "word" and following == ":":
            strict.append(json.dumps(token))
        elif token != "," or following not in "}]":
            strict.append(token)
    return json.loads("".join(strict))


def laid_over(base, more):
    if not (isinstance(base, dict) and isinstance(more, dict)):
        return more
    return {**base, **{key: laid_over(base.get(key), value) for key, value in more.items()}}


class Place:
    """A folder with the files that settings name, and an environment with the variables."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": folder, "SIGNING": secret(), "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
            "AWS_SECRET_ACCESS_KEY": "example",
        }

    def prepared(self, value, key=""):
        """The same settings; what they name is made, and paths of a real host become some of this folder."""
        if isinstance(value, list):
            return [self.prepared(entry, key) for entry in value]
        if isinstance(value, dict):
            if list(value) == ["env"]:
                self.environment.setdefault(value["env"], private_key() if key == "privateKey" else secret())
                return value
            if list(value) == ["file"]:
                return {"file": self.write(value["file"], private_key() if key == "privateKey" else secret())}
            return {name: self.prepared(entry, "audit" if key == "audit" else name) for name, entry in value.items()}
        if key == "profile":
            profiles = self.folder / "config"
            with profiles.open("a", encoding="utf-8") as file:
                file.write(f"[profile {value}]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = example\n")
            self.environment["AWS_CONFIG_FILE"] = str(profiles)
        if key == "template":
            return self.write(value, json.dumps(TEMPLATE))
        if key == "audit" and isinstance(value, str) and value.startswith("/"):
            return str(self.folder / pathlib.Path(value).name)
        return value

    def write(self, name, text):
        path = self.folder / pathlib.Path(name).name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o600)
        return path.name


def secret():
    return os.urandom(32).hex()


def private_key():
    command = ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def fault(text):
    """What `cloakroom check` has against a fragment; `None` for nothing."""
    try:
        fragment = read(text)
    except ValueError as error:
        return str(error)
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder)
        file = place.folder / "settings.json5"
        file.write_text(json.dumps(place.prepared(laid_over(LEAST, fragment))), encoding="utf-8")
        command = [os.environ["CLOAKROOM_WORKER"], "check", "--strict", str(file)]
        result = subprocess.run(command, env=place.environment, capture_output=True, text=True)
        return None if result.returncode == 0 else (result.stdout + result.stderr).strip()


def faults():
    blocks = [block for page in markdown.manual() for block in page.blocks if block.language == "json5"]
    found = [(block, fault(block.text)) for block in blocks]
    return [f"{markdown.place(block)}: {words}" for block, words in found if words] + ([] if blocks else ["there are none"])
