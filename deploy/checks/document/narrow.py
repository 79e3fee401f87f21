"""The document as it is for one stack: what its settings allow, and no member that it does not name in a response.

Requests that the document allows must then be taken, and others refused.
"""

import copy

from document import Document

CONTENT_TYPES = ["image/jpeg", "image/png", "image/heic", "image/webp", "image/gif", "video/mp4", "application/octet-stream"]
SCOPES = ["full", "read", "upload"]
LIFETIME = 3600
# As the stack's uploads.maximumBytes: one part, so that a link from a new upload to its parts names one that is there.
MAXIMUM_BYTES = 8_388_608


def closed(node):
    """Schemas of objects that name members have no others."""
    if isinstance(node, dict):
        if "properties" in node and "type" in node and "additionalProperties" not in node:
            node["additionalProperties"] = False
        for value in node.values():
            closed(value)
    elif isinstance(node, list):
        for value in node:
            closed(value)


def narrowed():
    document = Document()
    tree = copy.deepcopy(document.tree)
    # Off unless web.companion is on, as in the stack.
    tree["paths"] = {path: item for path, item in tree["paths"].items() if not path.startswith("/companion/")}
    schemas = tree["components"]["schemas"]
    asked = {"CredentialRequest", "SessionRequest", "AppleNotification", "PostUploadRequest", "MultipartUploadRequest",
             "CompletionRequest", "WebIdentityRequest", "RenewBatchRequest", "RenewOneRequest", "ReleaseBatchRequest"}
    for name, schema in schemas.items():
        if name not in asked and name != "KeySet":
            closed(schema)
    schemas["ContentType"]["enum"] = CONTENT_TYPES
    scope, lifetime = (schemas["CredentialRequest"]["properties"][name] for name in ("scope", "lifetimeSeconds"))
    scope["enum"] = [*SCOPES, None]
    lifetime["maximum"] = LIFETIME
    schemas["MultipartUploadRequest"]["properties"]["contentLength"]["maximum"] = MAXIMUM_BYTES
    schemas["PostUploadRequest"]["properties"]["maximumBytes"]["maximum"] = MAXIMUM_BYTES
    for path, method, _ in document.operations():
        if path not in tree["paths"]:
            continue
        for parameter in tree["paths"][path][method.lower()].get("parameters", []):
            if parameter["name"] == "scope":
                parameter["schema"]["enum"] = SCOPES
            elif parameter["name"] == "lifetimeSeconds":
                parameter["schema"]["maximum"] = LIFETIME
            elif parameter["name"] == "contentLength":
                parameter["schema"]["maximum"] = MAXIMUM_BYTES
            elif parameter["name"] == "numbers":
                parameter["schema"] = {"type": "string", "enum": ["1", "1-1"]}
    return tree
