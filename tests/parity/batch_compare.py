"""How a result of the batch lane is compared with a case of kube-batch's, whose outcome depends on luck.

What kube-batch was seen to do is written as leaves: {"v": x} where all runs agree, {"any": [x, y]} where they do not,
with "open" beside it when there may be more, {"free": n} when so many were seen that it says nothing.  A result has
plain values in place of leaves, and every round and section that is expected ("errors" aside); with nothing to say a
section is {}.  A deterministic scheduler walks one course, which must be one of those seen.
"""

import math
from typing import Any, Final, TypeAlias

from tests.parity.case import Case, Result

Value: TypeAlias = Any
"""Anything that JSON has."""

SOFT: Final = ("binds", "pipelined", "evicts", "allocJobs", "allocPods", "nodes")
"""Which node, which of several equal pods, what order: an open list of these does not bind."""
NOTHING: Final[tuple[Value, ...]] = (None, 0, False, "", [])


def compare(case: Case, got: Result) -> list[str]:
    """Return what differs."""
    expect = case["expect"]
    if expect.get("crash"):
        return []  # kube-batch itself fell over; the only demand is not to do the same
    rounds = got.get("rounds", [])
    out = []
    if len(rounds) != len(expect["rounds"]):
        out.append(f"{len(rounds)} rounds, expected {len(expect['rounds'])}")
    for number, (wanted, told) in enumerate(zip(expect["rounds"], rounds, strict=False), 1):
        _compare_round(f"round {number}", wanted, told, out)
    for part, wanted in expect["final"].items():
        if part in got.get("final", {}):
            _walk(wanted, got["final"][part], ["final", part], out, is_soft=False)
        else:
            out.append(f"final: no {part}")
    if "course" not in got:
        out.append("no course")
    elif not _is_allowed(expect["course"], got["course"], is_soft=False):
        out.append("course: never seen")
    return out


def _compare_round(where: str, wanted: Value, told: Value, out: list[str]) -> None:
    out += [f"{where}: no {part}" for part in wanted if part not in told and part != "errors"]
    for part in wanted:
        if part in told:
            _walk(wanted[part], told.get(part), [where, part], out, is_soft=part in SOFT)
    for part in ("binds", "evicts", "pipelined"):
        known = wanted.get(part, {})
        is_closed = not any(leaf.get("open") or "free" in leaf for leaf in known.values())
        out += [f"{where}/{part}/{name}: never seen" for name in told.get(part, {}) if name not in known and is_closed]


def same(one: Value, other: Value) -> bool:
    """Say whether two values are the same: numbers within a millionth, what is missing being nought."""
    if isinstance(one, dict) and isinstance(other, dict):
        return all(
            (key in one and key in other and same(one[key], other[key]))
            or (same(one.get(key, 0), 0) and same(other.get(key, 0), 0))
            for key in {*one, *other}
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(x, y) for x, y in zip(one, other, strict=True))
    if type(one) in {int, float} and type(other) in {int, float}:
        return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-6)
    return bool(one == other)


def _is_leaf(value: Value) -> bool:
    return isinstance(value, dict) and ("v" in value or "any" in value or "free" in value)


def _is_allowed(leaf: Value, value: Value, *, is_soft: bool) -> bool:
    if "free" in leaf:
        return True
    seen = [leaf["v"]] if "v" in leaf else leaf["any"]
    if any(same(one, value) for one in seen):
        return True
    has_nothing = any(one in NOTHING for one in seen)
    if value in NOTHING and has_nothing:
        return True
    # an open list is not complete; of a soft observable it still says whether there must be something at all
    return bool(leaf.get("open")) and (not is_soft or value not in NOTHING or has_nothing)


def _is_something(value: Value) -> bool:
    return any(map(_is_something, value.values())) if isinstance(value, dict) else value not in NOTHING


def _walk(wanted: Value, got: Value, path: list[str], out: list[str], *, is_soft: bool) -> None:
    if _is_leaf(wanted):
        is_free = "nodes" in path and "v" not in wanted  # sums of many free choices
        if not is_free and not _is_allowed(wanted, got, is_soft=is_soft):
            out.append(f"{'/'.join(path)}: {got!r}, expected {wanted.get('v', wanted.get('any'))}")
        return
    got = got or {}
    for key in wanted:
        is_softer = is_soft or (key in SOFT and "actions" not in path)
        _walk(wanted[key], got.get(key), [*path, key], out, is_soft=is_softer)
    if not is_soft:
        extra = (key for key in sorted({*got} - {*wanted}) if _is_something(got[key]))
        out += [f"{'/'.join([*path, key])}: {got[key]!r}, expected none" for key in extra]
