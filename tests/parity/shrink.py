"""Shrinking: the fewest objects, and then the fewest fields, with which a case still shows what it showed.

Objects go first, in halves, then quarters, then one by one; then whatever else can go without the question changing.
Not here: what a case shows; that is asked of the caller.
"""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.parity.case import Case, Manifest

KEPT = {"apiVersion", "kind", "metadata", "name", "namespace", "spec", "id", "family", "uid"}
KEPT |= {
    "key",
    "operator",
    "topologyKey",
    "weight",
}  # a requirement without them is odd in a way that nobody asked about
QUESTIONS_MOST = 3_000


@dataclass
class Patience:
    """How many questions may still be asked."""

    left: int = QUESTIONS_MOST


def shrink(case: Case, still_shows: Callable[[Case], bool], patience: Patience | None = None) -> Case:
    """Return a smaller case for which `still_shows` holds as it does for this one."""
    patience = patience or Patience()

    def shows(smaller: Case) -> bool:
        patience.left -= 1
        return patience.left >= 0 and still_shows(smaller)

    case = {name: value for name, value in case.items() if name != "result"}
    while True:
        before = _size(case)
        case = _fewer_objects(case, shows)
        case = _fewer_fields(case, shows)
        if _size(case) == before or patience.left <= 0:
            return case


def _fewer_objects(case: Case, shows: Callable[[Case], bool]) -> Case:
    step = max(1, len(case["objects"]) // 2)
    while True:
        at = 0
        while at < len(case["objects"]):
            objects = case["objects"][:at] + case["objects"][at + step :]
            smaller = case | {"objects": objects}
            if shows(smaller):
                case = smaller
            else:
                at += step
        if step == 1:
            return case
        step = max(1, step // 2)


def _fewer_fields(case: Case, shows: Callable[[Case], bool]) -> Case:
    """Drop what can go, outer fields before inner ones, so that most goes in few questions."""
    tried: set[tuple[str | int, ...]] = set()
    while True:
        path = next((path for path in _paths(case) if path not in tried), None)
        if path is None:
            return case
        smaller = _without(case, path)
        if shows(smaller):
            case = smaller
            if isinstance(path[-1], int):  # those behind it moved up: their paths mean others now
                tried = {one for one in tried if one[: len(path) - 1] != path[:-1]}
        else:
            tried.add(path)


def _paths(case: Case) -> Iterator[tuple[str | int, ...]]:
    level: list[tuple[tuple[str | int, ...], object]] = [((), case)]
    while level:
        inner: list[tuple[tuple[str | int, ...], object]] = []
        for path, value in level:
            for key, part in _parts(value):
                here = (*path, key)
                if (
                    key not in KEPT
                    and len(here) > 1
                    and here[0] != "id"
                    and not (here[0] == "objects" and len(here) == 2)
                ) or here in {("config",), ("featureGates",)}:
                    yield here
                inner.append((here, part))
        level = inner


def _parts(value: object) -> Iterator[tuple[str | int, object]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def _without(case: Case, path: tuple[str | int, ...]) -> Case:
    smaller: Case = copy.deepcopy(case)
    *above, last = path
    place: Manifest = smaller
    for key in above:
        place = place[key]  # type: ignore[index] # a list is entered by number
    del place[last]  # type: ignore[arg-type] # as above
    return smaller


def _size(value: object) -> int:
    return 1 + sum(_size(part) for _, part in _parts(value))
