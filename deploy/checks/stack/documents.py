"""The policies of deploy/iam as deploy/iam/render prints them: what both Terraform and CloudFormation must come to."""

import functools
import json
import pathlib
import subprocess

FOLDER = pathlib.Path(__file__).parents[2] / "iam"
# Whose empty value is one.
MAY_BE_EMPTY = ("PLACE", "OWN_PREFIX")


@functools.cache
def printed(*arguments):
    return subprocess.run([FOLDER / "render", *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


def policy(name, words):
    """The JSON of a file; words without a value are not given."""
    options = []
    for word, given in words.items():
        for value in given if isinstance(given, list) else [given]:
            if value or word in MAY_BE_EMPTY:
                options.append(f"--{word.lower().replace('_', '-')}={value}")
    return normal(json.loads(printed(f"{name}.json", *options)))


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
