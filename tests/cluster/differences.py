"""Differences: what two servers answer to one sequence of requests, and where that is not the same.

What differs by nature (uids, revisions, times, made-up endings of names, managed fields, what a server had to begin
with) is made alike first; then codes, reasons and every field are compared.
Not here: the requests (`sequence.py`), and which differences are allowed (`test_differential.py`).
"""

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from typing import Any, NamedTuple

from tests.cluster.control_plane import Api
from tests.cluster.sequence import BEGINNING, Step

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+")
ESTABLISHED_WITHIN_S = 10
WATCHES_MAX = 16


class Answer(NamedTuple):
    """What was said to one request: the objects in it, each under its kind."""

    code: int
    reason: str
    objects: dict[str, Any]  # by kind and name, and which of several it is


class Difference(NamedTuple):
    """A field of a kind that is not the same, and an example."""

    kind: str
    path: str
    example: str


def asked(api: Api, steps: list[Step]) -> list[Answer]:
    """Put the steps to a server, one after the other; watches that follow each other run side by side."""
    kept: dict[str, str] = {}
    there: set[str] = set()
    answers: list[Answer] = []
    for step, code, told in _sent(api, steps, kept):
        if step.keeps:
            kept[step.keeps] = told[0]["metadata"].get("resourceVersion", "1") if told else "1"
        reason = str(told[0].get("reason", "")) if told and told[0].get("kind") == "Status" else ""
        objects = dict(_objects(told))
        if len(answers) < len(BEGINNING):
            there |= set(objects)
        answers.append(Answer(code, reason, {key: one for key, one in objects.items() if key not in there}))
    return answers


def _sent(api: Api, steps: list[Step], kept: dict[str, str]) -> Iterator[tuple[Step, int, list[Any]]]:
    """Send the steps, and give each with its code and its documents; a path is filled in when its turn comes."""

    def send(step: Step) -> tuple[Step, int, list[Any]]:
        path = re.sub(r"\{(\w+)\}", lambda found: kept[found[1]], step.path)
        return (step, *_told(api, step._replace(path=path)))

    with ThreadPoolExecutor(WATCHES_MAX) as lanes:
        for is_watch, some in groupby(steps, key=lambda step: "watch=1" in step.path):
            all_at_once = lanes.map if is_watch else map
            yield from all_at_once(send, some)


def _told(api: Api, step: Step) -> tuple[int, list[Any]]:
    """Send a request, and give the documents of the answer; a definition's kind is waited for."""
    end = time.monotonic() + ESTABLISHED_WITHIN_S
    while True:
        code, raw = api.read(step.method, step.path, step.body, step.media)
        if code == 404 and "shop.example.com" in step.path and step.method == "POST" and time.monotonic() < end:
            continue
        return code, _documents(raw)


def _documents(raw: bytes) -> list[Any]:
    """Read an answer: one document, or a line for each that a watch told."""
    try:
        return [json.loads(raw)]
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in raw.splitlines() if line]
    except ValueError:
        return []


def _objects(told: list[Any]) -> Iterator[tuple[str, Any]]:
    """Give the objects of an answer's documents: itself, a list's items, a watch's events."""
    before: Counter[str] = Counter()
    for one in told:
        kind = str(one.get("kind", ""))
        if "type" in one and "object" in one:
            meta = one["object"].get("metadata", {})
            is_told = (
                "annotations" in meta if one["type"] == "BOOKMARK" else "name" not in meta or _is_ours(one["object"])
            )
            key = f"{one['object'].get('kind', '')} {_name(one['object'])}"
            before[key] += is_told
            if is_told:
                yield f"{key} {before[key]} {one['type']}", _alike(one["object"])
        elif kind.endswith("List") and "items" in one:
            for item in filter(_is_ours, one["items"]):
                yield f"{kind.removesuffix('List')} {_name(item)}", _alike(item)
        else:
            yield f"{kind or '(none)'} {_name(one)}", _alike(one)


def _is_ours(tree: dict[str, Any]) -> bool:
    """Say whether an object is the sequence's: a server has its own, and writes events about its addresses."""
    meta = tree["metadata"]
    return not str(meta.get("namespace", "")).startswith("kube-") and not _ADDRESS.match(meta["name"])


def _name(tree: dict[str, Any]) -> str:
    meta = tree.get("metadata") or {}
    return str(meta.get("generateName") or meta.get("name", ""))


def _alike(tree: Any, key: str = "") -> Any:  # noqa: ANN401  # JSON of any shape
    """Give a tree without what differs by nature."""
    if isinstance(tree, dict):
        kept = {name: below for name, below in tree.items() if name != "managedFields"}
        if "generateName" in kept and "name" in kept:
            kept["name"] = kept["generateName"]
        return {name: _alike(below, name) for name, below in kept.items()}
    if isinstance(tree, list):
        return [_alike(below) for below in tree]
    if key in {"resourceVersion", "continue"} and tree:
        return "<revision>"
    return _TIME.sub("<time>", _UID.sub("<uid>", tree)) if isinstance(tree, str) else tree


def different(ours: Answer, theirs: Answer) -> Iterator[Difference]:
    """Give the fields that two answers to one request do not share."""
    for key in {**ours.objects, **theirs.objects}:
        kind = key.split(" ", maxsplit=1)[0]
        if key not in ours.objects or key not in theirs.objects:
            yield Difference(kind, "", f"{key}: only {'here' if key in ours.objects else 'there'}")
            continue
        for path, mine, other in _paths(ours.objects[key], theirs.objects[key], ""):
            yield Difference(kind, path, f"{json.dumps(mine)[:100]}, the real one {json.dumps(other)[:100]}")


def _paths(mine: Any, other: Any, path: str) -> Iterator[tuple[str, Any, Any]]:  # noqa: ANN401  # JSON of any shape
    if isinstance(mine, dict) and isinstance(other, dict):
        for key in {**mine, **other}:
            yield from _paths(mine.get(key), other.get(key), f"{path}.{key}" if path else key)
    elif isinstance(mine, list) and isinstance(other, list) and len(mine) == len(other):
        for one, two in zip(mine, other, strict=True):
            yield from _paths(one, two, f"{path}[]")
    elif mine != other:
        yield path, mine, other
