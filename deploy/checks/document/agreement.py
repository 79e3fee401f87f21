"""Whether the document and the code have the same routes, codes, parameters and members; the code's come from `conformance wire`."""

import json
import os
import re
import subprocess

from jsonschema import Draft202012Validator

from document import ROOT, Document

# Statuses beside a code's own: of the worker 400 for an upload's content type, and those that nginx returns by itself.
ELSEWHERE = {
    (400, "content_type_not_allowed"), (414, "invalid_request"), (501, "invalid_request"), (505, "invalid_request"),
    (502, "unavailable"), (504, "unavailable"),
}
# Where nginx returns no 429 (limits.conf): private networks are not counted, and at /sts it is an error of STS.
UNCOUNTED = {"/sts", "/healthz", "/readyz", "/metrics", "/status"}
# Members that are taken and never written.
IGNORED = {"PostUploadRequest": {"filename"}, "MultipartUploadRequest": {"filename"}}
# Bodies that no type of the code has.
SHAPELESS = {"WebIdentityRequest", "Health", "KeySet", "Readiness", "Status", "ErrorCode", "CompletionReason", "Date", "ContentType", "SHA256", "Purpose"}


def wire():
    command = [os.path.join(os.environ["CLOAKROOM_BUILD"], "conformance"), "wire"]
    return json.loads(subprocess.run(command, input='{"id":1}\n', check=True, capture_output=True, text=True).stdout)


def differing(what, code, document):
    if code != document:
        yield f"{what}: only the code has {sorted(code - document)}, only the document has {sorted(document - code)}"


def validator(document, schema):
    """Dates are held against their pattern; `format` alone says nothing."""
    return Draft202012Validator({**schema, "components": document.tree["components"]})


def shape_faults(document, name, schema, forms):
    """The members of a schema are those that some form has, the required ones those that all have."""
    schema = document.followed(schema)
    if "items" in schema:
        yield from shape_faults(document, f"{name}[]", schema["items"], [item for form in forms for item in form])
    elif "properties" in schema:
        forms = [form for form in forms if isinstance(form, dict)]
        members = set().union(*forms)
        yield from differing(f"the members of {name}", members, set(schema["properties"]) - IGNORED.get(name, set()))
        always = {member for member in members if all(member in form for form in forms)}
        yield from differing(f"what {name} requires", always, set(schema.get("required", [])))
        for member, inner in schema["properties"].items():
            found = [form[member] for form in forms if member in form]
            if found:
                yield from shape_faults(document, f"{name}.{member}", inner, found)


def body_faults(document, bodies):
    schemas = document.tree["components"]["schemas"]
    yield from differing("bodies", set(bodies), set(schemas) - SHAPELESS)
    for name in set(bodies) & set(schemas):
        for form in bodies[name]:
            for error in validator(document, schemas[name]).iter_errors(form):
                yield f"the code's {name} is none of the document: {error.message}"
        yield from shape_faults(document, name, schemas[name], bodies[name])


def faults():
    document, code = Document(), wire()
    yield from differing(
        "routes", {(method, route["path"]) for route in code["routes"] for method in route["methods"]},
        {(method, path) for path, method, _ in document.operations()})
    yield from differing(
        "error codes", {(error["status"], error["code"]) for error in code["errors"]} | ELSEWHERE,
        {(status, word) for status, word, _ in document.error_codes()})
    yield from differing("ErrorCode", {error["code"] for error in code["errors"]}, set(document.schema("ErrorCode")["enum"]))
    for name, words in code["codes"].items():
        schema, _, member = name.partition(".")
        schema = document.schema(schema)["properties"][member] if member else document.schema(schema)
        yield from differing(name, set(words), set(schema["enum"]))
    for path, method, operation in document.operations():
        if path not in UNCOUNTED and "429" not in operation["responses"]:
            yield f"{method} {path} has no 429"
        names = {parameter["name"] for parameter in operation.get("parameters", []) if parameter["in"] == "query"}
        yield from differing(f"the query of {operation['operationId']}", set(code["query"].get(operation["operationId"], [])), names)
    yield from body_faults(document, code["bodies"])


def example_faults():
    """Every example is one of its schema."""
    document = Document()
    for place, content in document.bodies():
        if "example" not in content:
            yield f"{place} has no example"
            continue
        for error in validator(document, content["schema"]).iter_errors(content["example"]):
            yield f"the example of {place}: {error.message}"


# In the transcript stands for what differs from run to run.
MASKED = {'"DATE"': '"2026-11-23T09:00:00Z"'}
# Said by FastCGI or to the client's HTTP library.
UNTOLD = {"status", "content-type", "content-length"}


def recorded_faults():
    """The responses that the tests end to end have recorded are among those of the document."""
    document = Document()
    schemas = {}
    fields = {name.lower() for name in document.tree["components"]["headers"]}
    for place, content in document.bodies():
        schemas.setdefault(re.search(r"\b[1-5]\d\d\b", place)[0] if re.search(r"\b[1-5]\d\d\b", place) else "", []).append(
            content["schema"])
    text = (ROOT / "Tests" / "EndToEndTests" / "Recorded" / "responses.txt").read_text(encoding="utf-8")
    for masked, value in MASKED.items():
        text = text.replace(masked, value)
    count = 0
    for name, status, head, body in re.findall(r"^## (.*)\n(\d+)\n((?:[a-z-]+: .*\n)+)\n(.*)$", text, re.MULTILINE):
        count += 1
        for field in re.findall(r"^([a-z-]+):", head, re.MULTILINE):
            if field not in fields | UNTOLD:
                yield f"{name}: the document has no header field {field}"
        if body and not any(validator(document, schema).is_valid(json.loads(body)) for schema in schemas[status]):
            yield f"{name}: the document has no such body of {status}"
    if count < 50:
        yield f"only {count} responses were recorded"
