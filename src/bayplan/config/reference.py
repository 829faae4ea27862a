"""The reference of every field, written from the structs themselves: `python -m bayplan.config.reference` prints it.

Invariant: the page in `docs/` is what this prints; a test holds the two together.
Not here: what the fields do (the structs say it).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec import inspect

from bayplan.api.durations import Duration
from bayplan.config import strict
from bayplan.config.kubescheduler import KubeSchedulerConfiguration, Setting
from bayplan.config.ours import BayplanConfiguration
from bayplan.config.policy import Policy
from bayplan.config.policy_names import DEFAULT_PREDICATES, DEFAULT_PRIORITIES, MANDATORY, PREDICATES, PRIORITIES
from bayplan.framework.registry import Registry
from bayplan.framework.tiers import ARGUMENTS, Tier

INTRODUCTION: Final = """\
# Every field of every configuration

Written from the code: `python -m bayplan.config.reference` prints this page.
What the files are for is in [Configuration](config.md), moving from a Policy in [its own page](policy.md).
What kube-batch's files mean is in [Configuration of the batch lane](batch-config.md).
`null` is a field not given.  A length of time is written as Kubernetes does: `15s`, `1m30s`, `500ms`.
"""
FORMS: Final = (BayplanConfiguration, KubeSchedulerConfiguration, Policy, Tier)


def page(registry: Registry) -> str:
    """Return the page of fields."""
    parts = [INTRODUCTION]
    for form in FORMS:
        parts += [_section(one, "##" if one is form else "###") for one in _reachable(form)]
    parts.append("## Arguments of plugins\n\nAs `args` in `pluginConfig`; a plugin that is not listed takes none.\n")
    for name in registry.names():
        arguments = registry.arguments(name)
        if arguments is not None:
            parts += [_section(one, "###") for one in _reachable(arguments)]
    seen: dict[str, None] = dict.fromkeys(parts)
    return "\n".join(seen)


def policy_table() -> str:
    """Return the tables of old names."""
    lines = ["| predicate | plugin today | | remark |", "|---|---|---|---|"]
    for name, known in PREDICATES.items():
        role = "mandatory" if name in MANDATORY else "default" if name in DEFAULT_PREDICATES else ""
        lines.append(f"| {name} | {', '.join(known.plugins)} | {role} | {known.note} |")
    lines += ["", "| priority | plugin today | default weight | remark |", "|---|---|---|---|"]
    for name, score in PRIORITIES.items():
        strategy = score.arguments.get("scoringStrategy")
        kind = f", strategy {strategy['type']}" if isinstance(strategy, dict) else ""
        lines.append(f"| {name} | {score.plugin}{kind} | {DEFAULT_PRIORITIES.get(name, '')} | {score.note} |")
    return "\n".join(lines)


def argument_table() -> str:
    """Return the table of what the batch lane's plugins can be told."""
    lines = ["| plugin | argument | what |", "|---|---|---|"]
    for plugin, arguments in ARGUMENTS.items():
        lines += [
            f"| {plugin} | `{name}` | {'a whole number' if kind is int else 'true or false'} |"
            for name, kind in arguments.items()
        ]
    return "\n".join(lines)


def _reachable(struct: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    """Yield a struct and those within it, each once."""
    seen: dict[type[msgspec.Struct], None] = {}
    left: list[type[msgspec.Struct]] = [struct]
    while left:
        one = left.pop(0)
        if one in seen:
            continue
        seen[one] = None
        yield one
        left += [inner for field in _info(one).fields for inner in _inner(field.type)]


def _info(struct: type[msgspec.Struct]) -> inspect.StructType:
    found = inspect.type_info(struct)
    if not isinstance(found, inspect.StructType):
        raise TypeError(struct)
    return found


def _inner(kind: inspect.Type) -> list[type[msgspec.Struct]]:
    """Return the structs that a field's type names, but for Kubernetes' own objects."""
    if isinstance(kind, inspect.StructType):
        return [] if _is_object(kind) else [kind.cls]
    if isinstance(kind, inspect.Metadata):
        return _inner(kind.type)
    if isinstance(kind, inspect.UnionType):
        return [one for part in kind.types for one in _inner(part)]
    if isinstance(kind, inspect.VarTupleType | inspect.ListType):
        return _inner(kind.item_type)
    return []


def _is_object(kind: inspect.StructType) -> bool:
    return kind.cls.__module__.startswith("bayplan.api.")


def _section(struct: type[msgspec.Struct], level: str) -> str:
    """Return a struct's heading, what it is, and a row for each field."""
    first = (struct.__doc__ or "").strip().splitlines()[0]
    fields = list(zip(_info(struct).fields, msgspec.structs.fields(struct), strict=True))
    has_words = any(_described(field.type) for field, _ in fields)
    lines = [f"{level} {struct.__name__}", "", first, ""]
    lines += ["| field | type | default | what |", "|---|---|---|---|"] if has_words else []
    lines += [] if has_words else ["| field | type | default |", "|---|---|---|"]
    for field, own in fields:
        what = f" {_described(field.type)} |" if has_words else ""
        lines.append(f"| `{field.encode_name}` | {_kind(field.type)} | {_default(own)} |{what}")
    return "\n".join([*lines, ""])


def _kind(kind: inspect.Type) -> str:
    """Say a type in words."""
    while isinstance(kind, inspect.Metadata):
        kind = kind.type
    match kind:
        case inspect.UnionType():
            words = " or ".join(_kind(part) for part in kind.types if not isinstance(part, inspect.NoneType))
        case inspect.VarTupleType() | inspect.ListType():
            words = f"list of {_kind(kind.item_type)}"
        case inspect.StructType():
            name = kind.cls.__name__
            words = f"Kubernetes' {name}" if _is_object(kind) else f"[{name}](#{_anchor(kind.cls)})"
        case inspect.LiteralType():
            words = " or ".join(f"`{value}`" for value in kind.values)
        case inspect.CustomType():
            words = "length of time" if kind.cls is Duration else "text"
        case _:
            words = _WORDS.get(type(kind), "anything")
    return words


def _anchor(struct: type[msgspec.Struct]) -> str:
    return struct.__name__.lower()


def _described(kind: inspect.Type) -> str:
    """Return what a field's own words are, if it has any."""
    while isinstance(kind, inspect.Metadata):
        words = (kind.extra_json_schema or {}).get("description")
        if words:
            return str(words)
        kind = kind.type
    if isinstance(kind, inspect.UnionType):
        return next((words for part in kind.types if (words := _described(part))), "")
    return ""


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    value = field.default if field.default is not msgspec.NODEFAULT else None
    if field.default_factory is not msgspec.NODEFAULT:
        value = field.default_factory()
    if isinstance(value, Setting):
        return "see there"
    return f"`{json.dumps(strict.plain(value))}`"


_WORDS: Final[dict[type, str]] = {
    inspect.StrType: "text",
    inspect.IntType: "integer",
    inspect.FloatType: "number",
    inspect.BoolType: "true or false",
    inspect.BytesType: "base64",
    inspect.DictType: "map",
    inspect.AnyType: "map, or anything",
}

if __name__ == "__main__":
    sys.stdout.write(page(Registry.installed()))
