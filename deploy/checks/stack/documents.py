"""The policies of deploy/iam with their words replaced: what both Terraform and CloudFormation must come to."""

import json
import pathlib

FOLDER = pathlib.Path(__file__).parents[2] / "iam"
LISTS = ("FOLDER", "PLACE", "USER_ID", "CHAT_PREFIX")


def policy(name, words):
    """The JSON of a file; a quoted string with a word that stands for several values becomes one string for each."""
    text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    pieces = []
    for piece in text.split('"'):
        word = next((word for word in LISTS if word in piece), None)
        pieces.append('", "'.join(piece.replace(word, value) for value in words[word]) if word else piece)
    text = '"'.join(pieces)
    for word in sorted(words, key=len, reverse=True):
        if word not in LISTS:
            text = text.replace(word, words[word])
    return normal(json.loads(text))


def normal(policy):
    """Where IAM takes one value or several, several; numbers as the texts that they become."""

    def several(value):
        return sorted(str(item).lower() if isinstance(item, bool) else str(item) for item in
                      (value if isinstance(value, list) else [value]))

    statements = []
    for statement in policy["Statement"]:
        statement = dict(statement)
        for key in ("Action", "Resource"):
            if key in statement:
                statement[key] = several(statement[key])
        if "Condition" in statement:
            statement["Condition"] = {
                operator: {key: several(value) for key, value in keys.items()}
                for operator, keys in statement["Condition"].items()
            }
        statements.append(statement)
    return {"Version": policy["Version"], "Statement": statements}
