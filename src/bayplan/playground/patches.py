"""Patches: a tree and a patch give a new tree; JSON Patch, merge patch, and strategic merge patch.

Invariant: neither the tree nor the patch is changed, and the result may share parts with both.
Not here: whether the result may be stored (`verbs.py`), and server-side apply, which is not served.
"""

from __future__ import annotations

from typing import Final

from bayplan.api.yamltree import Tree
from bayplan.playground.refusals import Refused, bad_request
from bayplan.playground.trees import Map, items, text

OPERATIONS_MAX: Final = 10_000

# Lists of maps that strategic merge takes for sets, by the list's name: the key of an item.
_KEYS: Final = {
    "addresses": "type",
    "allocatedResourcesStatus": "name",
    "conditions": "type",
    "containers": "name",
    "drivers": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "hostAliases": "ip",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "podIPs": "ip",
    "hostIPs": "ip",
    "reservedFor": "uid",
    "resourceClaimStatuses": "name",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "secrets": "name",
    "topologySpreadConstraints": "topologyKey",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
_PRIMITIVE: Final = frozenset({"finalizers", "podCIDRs"})  # lists of texts that are sets
_ORDER: Final = "$setElementOrder/"
_DELETE: Final = "$deleteFromPrimitiveList/"
_RETAIN: Final = "$retainKeys"


# --- RFC 7386 --------------------------------------------------------------------------------------------------------


def merged(tree: Tree, patch: Tree) -> Tree:
    """Apply a merge patch: maps are merged, null deletes, anything else replaces."""
    if not isinstance(patch, dict):
        return patch
    result = dict(tree) if isinstance(tree, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


# --- RFC 6902 --------------------------------------------------------------------------------------------------------


def json_patched(tree: Tree, operations: Tree) -> Tree:
    """Apply a JSON Patch: a list of operations, all or none."""
    if not isinstance(operations, list):
        raise bad_request("error decoding patch: expected a list of operations")
    if len(operations) > OPERATIONS_MAX:
        message = f"The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {len(operations)}"
        raise Refused(413, "RequestEntityTooLarge", message)
    for operation in operations:
        if not isinstance(operation, dict):
            raise bad_request("error decoding patch: expected an operation to be a map")
        tree = _operated(tree, operation)
    return tree


def _operated(tree: Tree, operation: Map) -> Tree:
    steps = _steps(text(operation, "path"))
    match text(operation, "op"):
        case "add":
            return _added(tree, steps, operation.get("value"))
        case "remove":
            return _removed(tree, steps)
        case "replace":
            _found(tree, steps)
            return _set(tree, steps, operation.get("value"))
        case "test":
            if (found := _found(tree, steps)) != operation.get("value"):
                raise _unprocessable(f"testing value {text(operation, 'path')} failed: got {found!r}"[:500])
            return tree
        case "move":
            source = _steps(text(operation, "from"))
            value = _found(tree, source)
            return _added(_removed(tree, source), steps, value)
        case "copy":
            return _added(tree, steps, _found(tree, _steps(text(operation, "from"))))
        case other:
            raise bad_request(f'error decoding patch: expected an operation, got "{other[:40]}"')


def _steps(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/"):
        raise bad_request("error decoding patch: a path begins with /")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _found(tree: Tree, steps: list[str]) -> Tree:
    for step in steps:
        if isinstance(tree, dict) and step in tree:
            tree = tree[step]
        elif isinstance(tree, list) and (place := _index(step, len(tree))) is not None:
            tree = tree[place]
        else:
            raise _unprocessable(f"the path /{'/'.join(steps)} does not exist"[:500])
    return tree


def _index(step: str, end: int) -> int | None:
    return int(step) if step.isascii() and step.isdigit() and len(step) < 10 and int(step) < end else None


def _set(tree: Tree, steps: list[str], value: Tree) -> Tree:
    """Give a copy along a path that exists, with another value at its end."""
    if not steps:
        return value
    step, *rest = steps
    if isinstance(tree, dict):
        return {**tree, step: _set(tree.get(step), rest, value)}
    if isinstance(tree, list) and (place := _index(step, len(tree))) is not None:
        return [*tree[:place], _set(tree[place], rest, value), *tree[place + 1 :]]
    raise _unprocessable(f"the path /{'/'.join(steps)} does not exist"[:500])


def _added(tree: Tree, steps: list[str], value: Tree) -> Tree:
    if not steps:
        return value
    around = _found(tree, steps[:-1])
    if isinstance(around, dict):
        return _set(tree, steps, value)
    place = None
    if isinstance(around, list):
        place = len(around) if steps[-1] == "-" else _index(steps[-1], len(around) + 1)
    if place is None or not isinstance(around, list):
        raise _unprocessable(f"add operation does not apply at /{'/'.join(steps)}"[:500])
    return _set(tree, steps[:-1], [*around[:place], value, *around[place:]])


def _removed(tree: Tree, steps: list[str]) -> Tree:
    _found(tree, steps)
    if not steps:
        return None
    around = _found(tree, steps[:-1])
    if isinstance(around, dict):
        return _set(tree, steps[:-1], {key: value for key, value in around.items() if key != steps[-1]})
    place = int(steps[-1])
    return _set(tree, steps[:-1], [*items(around)[:place], *items(around)[place + 1 :]])


def _unprocessable(message: str) -> Refused:
    return Refused(422, "Invalid", f"the server rejected our request due to an error in our request: {message}", {})


# --- strategic merge -------------------------------------------------------------------------------------------------


def strategic(tree: Tree, patch: Tree, where: str = "") -> Tree:
    """Apply a strategic merge patch: as a merge patch, but lists that are sets are merged by their items' keys."""
    if not isinstance(patch, dict):
        return patch
    directive = text(patch, "$patch")
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    if directive == "delete":
        return {}
    result = dict(tree) if isinstance(tree, dict) else {}
    if _RETAIN in patch:
        retained = items(patch, _RETAIN)
        result = {key: value for key, value in result.items() if key in retained}
    for key, value in patch.items():
        if key.startswith("$"):
            _directed(result, key, value)
        elif value is None:
            result.pop(key, None)
        elif isinstance(value, list):
            result[key] = _list(key, where, result.get(key), value)
        else:
            result[key] = strategic(result.get(key), value, key)
    _ordered(result, patch, where, tree)
    return result


def _directed(result: Map, key: str, value: Tree) -> None:
    """Carry out what a patch says about a list of texts."""
    if key.startswith(_DELETE):
        name = key.removeprefix(_DELETE)
        gone = items(value)
        result[name] = [one for one in items(result, name) if one not in gone]


def _list(name: str, where: str, old: Tree, new: list[Tree]) -> Tree:
    if name in _PRIMITIVE:
        kept = items(old)
        return [*kept, *(one for one in new if one not in kept)]
    key = _key(name, where)
    if key is None or not all(isinstance(one, dict) for one in new):
        return new
    if any(text(one, "$patch") == "replace" for one in new):
        return [one for one in new if text(one, "$patch") != "replace"]
    result = [*items(old)]
    added = []
    for one in new:
        if not isinstance(one, dict):
            continue
        place = next((at for at, there in enumerate(result) if _same(there, one, key)), None)
        if text(one, "$patch") == "delete":
            result = [there for there in result if not _same(there, one, key)]
        elif place is None:
            added.append(strategic({}, one, name))
        else:
            result[place] = strategic(result[place], one, name)
    return [*result, *added]


def _key(name: str, where: str) -> str | None:
    """Name the key of a list's items; ports are keyed by another field in services than in containers."""
    if name == "ports":
        return "containerPort" if where in {"containers", "initContainers", "ephemeralContainers"} else "port"
    return _KEYS.get(name)


def _same(there: Tree, one: Map, key: str) -> bool:
    return isinstance(there, dict) and key in one and there.get(key) == one[key]


def _ordered(result: Map, patch: Map, where: str, before: Tree) -> None:
    """Bring the lists that a patch touched into order: its own items as it names them, the others as they stood.

    One that the patch does not name comes before one that it does only where both were there before, in that order: a
    new one therefore comes first.
    """
    for name in {directive.removeprefix(_ORDER) for directive in patch}:
        key = None if name in _PRIMITIVE else _key(name, where)
        told = items(patch, f"{_ORDER}{name}") or items(patch, name)
        if told and (key is not None or name in _PRIMITIVE):
            there = [_mark(one, key) for one in items(before, name)]
            result[name] = _merged_order(items(result, name), [_mark(one, key) for one in told], there, key)


def _merged_order(have: list[Tree], told: list[Tree], there: list[Tree], key: str | None) -> list[Tree]:
    named = sorted((one for one in have if _mark(one, key) in told), key=lambda one: told.index(_mark(one, key)))
    others = [one for one in have if _mark(one, key) not in told]
    merged: list[Tree] = []
    while named and others:
        other, mine = _mark(others[0], key), _mark(named[0], key)
        is_first = other in there and mine in there and there.index(other) < there.index(mine)
        merged.append((others if is_first else named).pop(0))
    return [*merged, *named, *others]


def _mark(one: Tree, key: str | None) -> Tree:
    return one.get(key) if isinstance(one, dict) and key else one
