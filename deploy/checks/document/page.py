"""The parts of the manual's page Routes that are made of the document: between two comments with the part's name."""

import json
import re
import urllib.parse

from document import ROOT, Document

PAGE = ROOT / "Sources" / "cloakroom" / "cloakroom.docc" / "Routes.md"
KINDS = {"boolean": "true or false", "array": "array", "object": "object", "integer": "integer", "string": "string"}


def table(head, rows):
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def kind(document, schema):
    """A type in a few words: `string`, `integer from 1`, `array of 1 to 100`."""
    reference = schema.get("$ref", "").rpartition("/")[2]
    schema = document.followed(schema)
    name = schema.get("type", "")
    name = next(word for word in name if word != "null") if isinstance(name, list) else name
    if reference == "Date":
        return "date"
    words = [value for value in schema.get("enum", []) if value is not None]
    if words:
        return " or ".join(f"`{word}`" for word in words)
    if "minimum" in schema:
        return f"{KINDS[name]} from {schema['minimum']}" + (f" to {schema['maximum']:,}" if "maximum" in schema else "")
    if "minItems" in schema:
        return f"{schema['minItems']} to {schema['maxItems']:,} of {KINDS[schema['items']['type']]}"
    return KINDS[name]


def members(document, schema, prefix=""):
    """Rows of all members, those within by `a.b` and `a[].b`."""
    schema = document.followed(schema)
    for name, inner in schema.get("properties", {}).items():
        whole = document.followed(inner)
        optional = "" if name in schema.get("required", []) else "?"
        text = whole.get("description", "")
        yield [f"`{prefix}{name}`{optional}", kind(document, inner), text[:1].lower() + text[1:].rstrip(".")]
        if "items" in whole:
            yield from members(document, whole["items"], f"{prefix}{name}[].")
        elif "properties" in whole:
            yield from members(document, whole, f"{prefix}{name}.")


def routes(document):
    rows = []
    for path, method, operation in document.operations():
        if method == "HEAD":
            continue
        asked = [f"`{p['name']}`{'' if p.get('required') else '?'}" for p in operation.get("parameters", []) if p["in"] == "query"]
        for content in operation.get("requestBody", {}).get("content", {}).values():
            schema = document.followed(content["schema"])
            asked += [f"`{name}`{'' if name in schema.get('required', []) else '?'}" for name in schema["properties"]]
        content = next(iter(operation["responses"]["200"]["content"].items()))
        schema = document.followed(content[1]["schema"])
        returned = [f"`{name}`" for name in document.followed(schema.get("items", schema)).get("properties", {})]
        head = "; HEAD too" if "head" in document.tree["paths"][path] else ""
        rows.append([
            f"[`{method} {path}`](#{anchor(method, path)})", operation["summary"].rstrip(".") + head, ", ".join(asked) or "–",
            ", ".join(returned) or {"text/plain": "text", "text/xml": "XML"}.get(content[0], "`{}`")])
    return table(["Route", "", "In", "Out"], rows)


def anchor(method, path):
    """As GitHub makes one of the heading."""
    return re.sub(r"[^\w\- ]", "", f"{method} {path}".lower()).replace(" ", "-")


def http(document, path, method, operation):
    """The example of a request and its response."""
    target, query = path, []
    for parameter in operation.get("parameters", []):
        if "example" in parameter and parameter["in"] == "path":
            target = target.replace("{%s}" % parameter["name"], str(parameter["example"]))
        elif "example" in parameter:
            query.append(f"{parameter['name']}={parameter['example']}")
    lines = [f"{method} {target}{'?' if query else ''}{'&'.join(query)} HTTP/1.1"]
    if operation.get("security", [{"token": []}])[:1] == [{"token": []}] and {} not in operation.get("security", []):
        lines.append("Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1XzEifQ.c2lnbmF0dXJl")
    for name, content in operation.get("requestBody", {}).get("content", {}).items():
        example = content["example"]
        is_form = name == "application/x-www-form-urlencoded"
        lines += [f"Content-Type: {name}", "", urllib.parse.urlencode(example) if is_form else json.dumps(example)]
    response = operation["responses"]["200"]
    name, content = next(iter(response["content"].items()))
    example = content["example"]
    lines += ["", "HTTP/1.1 200 OK", f"Content-Type: {name}", "", example.rstrip("\n") if isinstance(example, str) else json.dumps(example)]
    return "```http\n" + "\n".join(lines) + "\n```"


def details(document):
    parts = []
    for path, method, operation in document.operations():
        if method == "HEAD":
            continue
        parts.append(f"### {method} {path}")
        parts.append(" ".join(operation[key] for key in ("summary", "description") if key in operation))
        rows = [
            [f"`{p['name']}`{'' if p.get('required') else '?'}", kind(document, p["schema"]), p["description"][:1].lower() + p["description"][1:].rstrip(".")]
            for p in operation.get("parameters", [])]
        for content in operation.get("requestBody", {}).get("content", {}).values():
            rows += list(members(document, content["schema"]))
        if rows:
            parts.append(table(["In", "", ""], rows))
        rows = [row for content in operation["responses"]["200"]["content"].values() for row in members(document, content["schema"])]
        if rows:
            parts.append(table(["Out", "", ""], rows))
        parts.append("Statuses: " + ", ".join(operation["responses"]) + ".")
        parts.append(http(document, path, method, operation))
    return "\n\n".join(parts)


def errors(document):
    return table(["Status", "`code`", "Cause"], [[str(status), f"`{code}`", text] for status, code, text in document.error_codes()])


def fields(document):
    rows = []
    for name, field in document.tree["components"]["headers"].items():
        if name != "Retry-After-Some":
            rows.append([f"`{name}`", field["description"]])
    return table(["Field", ""], rows)


PARTS = {"routes": routes, "details": details, "errors": errors, "fields": fields}


def made():
    """The page as it should be."""
    document, text = Document(), PAGE.read_text(encoding="utf-8")
    for name, part in PARTS.items():
        mark = f"<!-- openapi: {name} -->"
        pieces = text.split(mark)
        if len(pieces) != 3:
            raise SystemExit(f"{PAGE.name} has no part between two of {mark}")
        text = f"{pieces[0]}{mark}\n\n{part(document)}\n\n{mark}{pieces[2]}"
    return text


def faults():
    if made() != PAGE.read_text(encoding="utf-8"):
        yield f"{PAGE.name} is not made of deploy/openapi.yaml: deploy/checks/wire --write makes it anew"


def write():
    PAGE.write_text(made(), encoding="utf-8")
