"""Plugin arguments: a pluginConfig entry becomes the plugin's own struct, checked as the plugin says.

Invariant: after `decoded_arguments`, every entry's `args` is a struct of its plugin, or None.
Not here: what a plugin's arguments mean and which are allowed (the plugin's `Arguments`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from bayplan.config import strict
from bayplan.config.complaints import Complaints, Path, path_of, shown
from bayplan.config.kubescheduler import API_VERSION, PluginConfig, SchedulerProfile
from bayplan.config.plugin_sets import unknown
from bayplan.framework.plugin import Gates
from bayplan.framework.registry import PluginNotLoaded, Registry

_HEADER: Final = ("apiVersion", "kind")
_ABOUT: Final = re.compile(r"([A-Za-z]\w*(?:\[\d+\])*(?:\.[A-Za-z]\w*(?:\[\d+\])*)*): (.*)", re.DOTALL)
_GATED: Final[Mapping[tuple[str, str], tuple[str, str]]] = {
    ("VolumeBinding", "shape"): ("storage_capacity_scoring", "StorageCapacityScoring"),
}  # (plugin, argument) -> the field of Gates without which it may not be given, and the gate's name


def decoded_arguments(
    profile: SchedulerProfile, registry: Registry, gates: Gates, complaints: Complaints, path: Path
) -> SchedulerProfile:
    """Return the profile with every plugin's arguments read."""
    entries = []
    first: dict[str, int] = {}
    for place, entry in enumerate(profile.plugin_config):
        at = (*path, "pluginConfig", place)
        name = _name_of(entry, registry, complaints, at)
        if name is None:
            continue
        if name in first:
            complaints.add(
                (*at, "name"), f"arguments of {name} are given twice; the others are in pluginConfig[{first[name]}]"
            )
            continue
        first[name] = place
        args = read_arguments(name, entry.args, registry, complaints, (*at, "args"))
        entries.append(PluginConfig(name=name, args=args))
        _check_gated(name, entry.args, gates, complaints, (*at, "args"))
    return msgspec.structs.replace(profile, plugin_config=tuple(entries))


def arguments_of(profile: SchedulerProfile, name: str, registry: Registry, gates: Gates) -> msgspec.Struct | None:
    """Return the arguments with which a plugin is made in a profile: those given, or its defaults."""
    wanted = registry.arguments(name)
    given = next((entry.args for entry in profile.plugin_config if entry.name == name), None)
    arguments = given if isinstance(given, msgspec.Struct) else wanted() if wanted is not None else None
    for (plugin, argument), (field, _) in _GATED.items():
        if plugin == name and arguments is not None and not getattr(gates, field) and hasattr(arguments, argument):
            arguments = msgspec.structs.replace(arguments, **{argument: ()})
    return arguments


def _name_of(entry: PluginConfig, registry: Registry, complaints: Complaints, at: Path) -> str | None:
    where = (*at, "name")
    if not entry.name:
        complaints.add(where, "is required")
        return None
    try:
        name = registry.canonical(entry.name)
    except PluginNotLoaded as error:
        complaints.add(where, str(error))
        return None
    if registry.knows(name):
        return name
    complaints.add(where, unknown(name, registry))
    return None


def read_arguments(
    name: str, given: object, registry: Registry, complaints: Complaints, at: Path
) -> msgspec.Struct | None:
    """Read one plugin's arguments into its struct."""
    try:
        wanted = registry.arguments(name)
    except PluginNotLoaded as error:
        complaints.add(at, str(error))
        return None
    if given is not None and not isinstance(given, Mapping):
        complaints.unreadable(at, f"expected a map, got {shown(given)}")
        return None
    tree = {key: value for key, value in (given or {}).items() if key not in _HEADER or _has(wanted, key)}
    if wanted is None:
        if tree:
            complaints.add(at, f"{name} takes no arguments; leave `args` out")
        return None
    _check_header(name, given or {}, wanted, complaints, at)
    arguments = strict.decoded(tree, wanted, complaints, at)
    if arguments is not None:
        _check(name, arguments, complaints, at)
    return arguments


def _has(wanted: type[msgspec.Struct] | None, key: str) -> bool:
    return wanted is not None and key in strict.fields_of(wanted)


def _check_header(
    name: str, given: Mapping[str, object], wanted: type[msgspec.Struct], complaints: Complaints, at: Path
) -> None:
    """Check that arguments which say what they are, are what is wanted here."""
    kind, version = given.get("kind"), given.get("apiVersion")
    if kind is not None and not _has(wanted, "kind") and kind != f"{name}Args":
        complaints.add((*at, "kind"), f'expected "{name}Args", got {shown(kind)}')
    if version is not None and not _has(wanted, "apiVersion") and not str(version).startswith(API_VERSION):
        complaints.add((*at, "apiVersion"), f'expected "{API_VERSION}", got {shown(version)}')


def _check(name: str, arguments: msgspec.Struct, complaints: Complaints, at: Path) -> None:
    """Pass on what a plugin says is wrong with its arguments; `field[0].name: what` names the place."""
    problems = getattr(arguments, "problems", None)
    if problems is None:
        return
    try:
        found = [str(problem) for problem in problems()]
    except Exception as error:  # noqa: BLE001 a plugin's own check may raise anything
        found = [f"the check of {name}'s arguments failed: {type(error).__name__}: {error}"]
    for problem in found:
        about = _ABOUT.fullmatch(problem)
        complaints.add((*at, *path_of(about[1])) if about else at, about[2] if about else problem)


def _check_gated(name: str, given: object, gates: Gates, complaints: Complaints, at: Path) -> None:
    """Refuse arguments whose feature is off, so that they do not come into force unseen when it is turned on."""
    for (plugin, argument), (field, gate) in _GATED.items():
        if (
            plugin == name
            and isinstance(given, Mapping)
            and given.get(argument) is not None
            and not getattr(gates, field)
        ):
            complaints.add((*at, argument), f"has no effect while the gate {gate} is off; leave it out")


def is_gated(plugin: str, argument: str, gates: Gates) -> bool:
    """Say whether an argument may not be given, because its feature is off."""
    gated = _GATED.get((plugin, argument))
    return gated is not None and not getattr(gates, gated[0])
