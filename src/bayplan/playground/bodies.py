"""Bodies: what a client sends as trees, and in which form it wants its answer.

JSON and YAML are read, and the protobuf that kubectl sends for some commands (`protobuf.py`).
Invariant: no bytes raise anything but Refused.
Not here: what the trees mean.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from bayplan.api.yamltree import Tree, YamlError, documents
from bayplan.playground.protobuf import decoded
from bayplan.playground.refusals import Refused, bad_request, unsupported_media
from bayplan.playground.trees import Map

BODY_BYTES_MAX: Final = 3 * 2**20

Form: TypeAlias = Literal["object", "table", "metadata"]

_PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
_JSON: Final = frozenset({"", "application/json", "text/plain", "application/octet-stream"})


def read_map(raw: bytes, content_type: str) -> Map:
    """Read a body that must be a map."""
    tree = read(raw, content_type)
    if not isinstance(tree, dict):
        raise bad_request("the object provided is unrecognized: expected a map")
    return tree


def read(raw: bytes, content_type: str) -> Tree:
    """Read a body as its content type says."""
    media = content_type.partition(";")[0].strip().lower()
    if media == _PROTOBUF:
        return decoded(raw)
    if media in {"application/yaml", "application/x-yaml"}:
        return _yaml(raw)
    if media in _JSON or media.endswith("+json"):
        return _json(raw)
    raise unsupported_media(
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml"
    )


def _json(raw: bytes) -> Tree:
    try:
        tree: Tree = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    return tree


def _yaml(raw: bytes) -> Tree:
    read_one = next(iter(documents(raw)), None)
    if isinstance(read_one, YamlError):
        raise bad_request(f"error converting YAML to JSON: line {read_one.line + 1}: {read_one.problem}")
    return None if read_one is None else read_one.tree


def form_wanted(accept: str) -> Form:
    """Read the Accept header: the first form of it that is served."""
    for choice in accept.split(","):
        media, *parameters = (part.strip() for part in choice.split(";"))
        if media not in {"", "*/*", "application/*", "application/json"}:
            continue
        given = dict(parameter.partition("=")[::2] for parameter in parameters)
        if "as" not in given:
            return "object"
        if given.get("g") == "meta.k8s.io" and given.get("v") == "v1":
            if given["as"] == "Table":
                return "table"
            if given["as"].startswith("PartialObjectMetadata"):
                return "metadata"
    message = "only the following media types are accepted: application/json"
    raise Refused(406, "NotAcceptable", message)
