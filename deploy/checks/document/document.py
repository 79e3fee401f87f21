"""deploy/openapi.yaml, with its references followed."""

import pathlib

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
METHODS = ("get", "head", "post", "put", "delete", "options", "patch", "trace")


class Document:
    def __init__(self):
        self.tree = yaml.safe_load((ROOT / "deploy" / "openapi.yaml").read_text(encoding="utf-8"))

    def followed(self, node):
        """What a reference names; its own description goes before that of what it names."""
        while isinstance(node, dict) and "$ref" in node:
            target = self.tree
            for step in node["$ref"].removeprefix("#/").split("/"):
                target = target[step]
            node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
        return node

    def schema(self, name):
        return self.tree["components"]["schemas"][name]

    def operations(self):
        """Path, method and operation of each route."""
        for path, item in self.tree["paths"].items():
            for method in METHODS:
                if method in item:
                    yield path, method.upper(), item[method]

    def error_codes(self):
        """Each status with each code it comes with, and what that means."""
        for status, response in self.tree["components"]["responses"].items():
            for part in response["content"]["application/json"]["schema"]["allOf"]:
                for code in part.get("properties", {}).get("code", {}).get("oneOf", []):
                    yield int(status), code["const"], code["description"]

    def bodies(self):
        """Each media type's schema with its example, and where it stands."""
        for path, method, operation in self.operations():
            for name, content in operation.get("requestBody", {}).get("content", {}).items():
                yield f"{method} {path} {name}", content
            for status, response in operation["responses"].items():
                for name, content in self.followed(response)["content"].items():
                    yield f"{method} {path} {status} {name}", content
        for status, response in self.tree["components"]["responses"].items():
            yield f"responses/{status}", response["content"]["application/json"]
