"""kube-batch's configuration files: the flat map of its first versions and the YAML tiers of its later ones.

Both are read into one form, in which every switch has its value.  A name that is unknown is a complaint; what
kube-batch lets pass and reads otherwise than one may think is a warning.
Invariant: what was read names only actions and plugins that there are, or `module:Class`.
Not here: making the plugins (the batch lane), and which file is meant (files.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path as FilePath
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from bayplan.config import source, strict
from bayplan.config.complaints import Complaint, Complaints, Path, Place, meant, nowhere, path_text, shown
from bayplan.config.forms import is_batch, is_switch, unwrapped
from bayplan.config.ours import BatchProfile
from bayplan.config.source import Source
from bayplan.framework.tiers import (
    ACTIONS,
    ARGUMENTS,
    PLUGINS,
    SCHEDULER_NAME,
    BatchConfiguration,
    Form,
    Tier,
    TierPlugin,
    as_truth,
)

DOCUMENTED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "actions": "reclaim, allocate, preempt",
        "plugins": "gang, priority, drf, predicates, proportion",
        "plugin.gang.jobready": "true",
        "plugin.gang.joborder": "true",
        "plugin.gang.preemptable": "true",
        "plugin.priority.joborder": "true",
        "plugin.priority.taskorder": "true",
        "plugin.drf.preemptable": "true",
        "plugin.drf.joborder": "true",
    }
)
ACTIONS_ABSENT: Final = "allocate, preempt"
PLUGINS_ABSENT: Final = "gang, priority, drf"
SWITCHES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "jobready": "enable_job_ready",
        "joborder": "enable_job_order",
        "taskorder": "enable_task_order",
        "preemptable": "enable_preemptable",
    }
)
_SWITCHED: Final = ("gang", "priority", "drf")  # which decide nothing with all four switches off
_OF_VOLCANO: Final = {
    "actions": {"enqueue", "elect", "reserve", "shuffle", "gangpreempt", "gangreclaim"},
    "plugins": {
        "binpack",
        "capacity",
        "cdp",
        "deviceshare",
        "extender",
        "network-topology-aware",
        "nodegroup",
        "numa-aware",
        "overcommit",
        "pdb",
        "rescheduling",
        "resource-strategy-fit",
        "resourcequota",
        "sla",
        "task-topology",
        "tdm",
        "usage",
    },
    "fields": {
        "configurations",
        "metrics",
        "enableHierarchy",
        "enablePreemptive",
        "enableJobEnqueued",
        "enableJobStarving",
        "enableBestNode",
        "enableTargetJob",
        "enableReservedNodes",
        "enabledVictim",
        "enabledOverused",
        "enabledAllocatable",
        "enabledHyperNodeOrder",
        "enabledSubJobReady",
        "enabledSubJobPipelined",
        "enabledSubJobOrder",
        "enabledHyperNodeGradient",
        "enabledClusterOrder",
    },
}
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,9}", re.ASCII)


class LoadedBatch(NamedTuple):
    """A batch configuration, what was odd about it, and where its values stand."""

    configuration: BatchConfiguration
    warnings: tuple[Complaint, ...] = ()
    tree: Mapping[str, object] = MappingProxyType({})
    place_of: Callable[[Path], Place] = nowhere
    file: str = ""


def load_batch(profile: BatchProfile, folder: FilePath, complaints: Complaints) -> LoadedBatch:
    """Read what a profile names, inline or a file; a file that cannot be opened leaves what is documented, and says so.

    Anything else that is wrong raises a ConfigError.  Complaints are about the profile's `conf`.
    """
    conf = profile.conf
    if isinstance(conf, Mapping):
        return read_batch(Source(dict(conf), complaints), profile)
    if not isinstance(conf, str):
        complaints.unreadable((), f"expected a path or a map, got {_kind(conf)}")
        complaints.settle()
    if not conf:
        return LoadedBatch(documented(profile))
    try:
        found = source.of_file(folder / str(conf))
    except source.NotRead as error:
        said = error.complaints[0]
        warning = msgspec.structs.replace(said, message=f"{said.message}; kube-batch's default is in force instead")
        return LoadedBatch(documented(profile), (warning,))
    return read_batch(found, profile)


def documented(profile: BatchProfile) -> BatchConfiguration:
    """Return what is in force without a file: the map that kube-batch had built in."""
    return read_batch(source.of_map(DOCUMENTED), profile).configuration


def read_batch(found: Source, profile: BatchProfile, plugins: Collection[str] = PLUGINS) -> LoadedBatch:
    """Decode what was read from somewhere; raise a ConfigError with all that is wrong."""
    tree, complaints = unwrapped(found)
    known = _Known(complaints, plugins)
    if is_batch(tree):
        configuration = _tiers(tree, profile, known) if "tiers" in tree else _flat(tree, profile, known)
    else:
        complaints.unreadable((), "expected a configuration of kube-batch: `actions` with `tiers`, or with `plugins`")
        configuration = None
    complaints.settle()
    if configuration is None:  # cannot be: settling has raised
        raise AssertionError(tree)
    return LoadedBatch(configuration, tuple(complaints.warnings), tree, complaints.place_of, complaints.file)


class _Known(NamedTuple):
    """Which plugins may be named, and whom to tell of others."""

    complaints: Complaints
    plugins: Collection[str]

    def names(self, given: object, what: str, path: Path) -> tuple[str, ...]:
        """Read a list of names that is written with commas."""
        if not isinstance(given, str):
            hint = f'; write "{", ".join(map(str, given))}"' if isinstance(given, list | tuple) else ""
            self.complaints.unreadable(path, f"expected {what} with commas between them, got {_kind(given)}{hint}")
            return ()
        names = tuple(name.strip() for name in given.split(","))
        for name in names:
            self.check(name, what, path)
        return names

    def check(self, name: str, what: str, path: Path) -> None:
        """Complain about an action or a plugin that there is not."""
        known = ACTIONS if what == "actions" else self.plugins
        if name in known or (what == "plugins" and ":" in name):
            return
        if not name:
            self.complaints.add(path, "expected a name, got nothing; is there a comma too many?")
        elif name in _OF_VOLCANO[what]:
            self.complaints.add(path, f"{shown(name)} is Volcano's; it is not built here yet, leave it out")
        else:
            self.complaints.add(path, f"unknown {what[:-1]} {shown(name)}; {meant(name, known)}")


# --- the flat map -----------------------------------------------------------------------------------------------------


def _flat(tree: Mapping[str, object], profile: BatchProfile, known: _Known) -> BatchConfiguration:
    """Read the flat map: one tier, in the order listed."""
    actions = known.names(_given(tree, "actions", ACTIONS_ABSENT), "actions", ("actions",))
    listed = known.names(_given(tree, "plugins", PLUGINS_ABSENT), "plugins", ("plugins",))
    names = tuple(dict.fromkeys(listed))
    if len(names) < len(listed):
        known.complaints.warn(("plugins",), "names a plugin twice; it counts once, where it stands first")
    on = _switched_on(tree, names, known)
    _warn_of_silence(tree, names, on, known)
    plugins = tuple(_flat_plugin(name, on, profile) for name in names)
    return _configuration(profile, "flat", actions, (Tier(plugins),))


def _given(tree: Mapping[str, object], key: str, absent: str) -> object:
    found = tree.get(key)
    return absent if found is None else found


def _flat_plugin(name: str, on: Collection[tuple[str, str]], profile: BatchProfile) -> TierPlugin:
    """Give a plugin its four switches as written; the others are on, but for gang's say in reclaiming."""
    switches = {field: (name, switch) in on for switch, field in SWITCHES.items()}
    reclaimable = name != "gang" or profile.behaviour == "bayplan"
    return msgspec.structs.replace(TierPlugin(name=name), enable_reclaimable=reclaimable, **switches)


def _switched_on(tree: Mapping[str, object], names: Collection[str], known: _Known) -> set[tuple[str, str]]:
    """Return the switches that are on, as plugin and switch; complain about keys that mean nothing."""
    on: set[tuple[str, str]] = set()
    complaints = known.complaints
    for key, value in tree.items():
        path: Path = (key,)
        if key in {"actions", "plugins"}:
            continue
        name, _, switch = key.removeprefix("plugin.").rpartition(".")
        if not is_switch(key) or not name:
            fields = ("actions", "plugins", *(f"plugin.{one}.{two}" for one in names for two in SWITCHES))
            complaints.unreadable(path, f"unknown field {shown(key)}; {meant(key, fields)}")
        elif switch not in SWITCHES:
            complaints.unreadable(path, f"unknown switch {shown(switch)}; {meant(switch, SWITCHES)}")
        elif name not in names:
            known.check(name, "plugins", path)
            complaints.warn(path, f"has no effect: {name} is not among `plugins`")
        elif _is_on(value, path, complaints):
            on.add((name, switch))
    return on


def _is_on(value: object, path: Path, complaints: Complaints) -> bool:
    """Read a switch; what is neither true nor false is false, as with kube-batch."""
    text = _text(value)
    if text is None:
        complaints.unreadable(path, f'expected "true" or "false", got {_kind(value)}')
        return False
    found = as_truth(text)
    if found is None:
        complaints.warn(path, f'{shown(text)} is neither "true" nor "false", which kube-batch reads as false')
    return bool(found)


def _warn_of_silence(
    tree: Mapping[str, object], names: Collection[str], on: Collection[tuple[str, str]], known: _Known
) -> None:
    """Warn of plugins that are listed but never vote, where that was not written."""
    voting = {name for name, _ in on}
    for name in names:
        spoken_of = any(key.startswith(f"plugin.{name}.") for key in tree)
        if name in _SWITCHED and name not in voting and not spoken_of:
            example = f'plugin.{name}.{"jobready" if name == "gang" else "joborder"}: "true"'
            known.complaints.warn(
                ("plugins",), f"no switch of {name} is on, and absent ones are off; was {example} meant?"
            )


# --- tiers ------------------------------------------------------------------------------------------------------------


class _TiersFile(msgspec.Struct, frozen=True):
    actions: object = None
    tiers: tuple[Tier, ...] = ()


def _tiers(tree: Mapping[str, object], profile: BatchProfile, known: _Known) -> BatchConfiguration:
    """Read actions and tiers; what is not said of a plugin is on."""
    complaints = known.complaints
    found = strict.decoded(_prepared(tree, complaints), _TiersFile, complaints) or _TiersFile()
    if found.actions is None:
        complaints.add(("actions",), "is required")
    actions = () if found.actions is None else known.names(found.actions, "actions", ("actions",))
    if not any(tier.plugins for tier in found.tiers):
        complaints.warn(("tiers",), "names no plugin: nothing orders jobs, guards gangs or shares out")
    for path, plugin in _placed(found.tiers):
        known.check(plugin.name, "plugins", (*path, "name"))
        _check_arguments(plugin, (*path, "arguments"), complaints)
    return _configuration(profile, "tiers", actions, _with_last_arguments(found.tiers, complaints))


def _placed(tiers: tuple[Tier, ...]) -> Iterator[tuple[Path, TierPlugin]]:
    for place, tier in enumerate(tiers):
        for inside, plugin in enumerate(tier.plugins):
            yield ("tiers", place, "plugins", inside), plugin


def _prepared(tree: object, complaints: Complaints, path: Path = ()) -> object:
    """Leave out what is Volcano's, complaining, and write arguments as texts, as kube-batch reads them."""
    if isinstance(tree, list | tuple):
        return [_prepared(child, complaints, (*path, place)) for place, child in enumerate(tree)]
    if not isinstance(tree, Mapping):
        return tree
    found: dict[str, object] = {}
    for key, value in tree.items():
        at = (*path, key)
        if key in _OF_VOLCANO["fields"]:
            complaints.unreadable(at, f"{shown(key)} is Volcano's; it is not built here yet, leave it out")
        elif key == "arguments" and isinstance(value, Mapping):
            found[key] = {name: child if _text(child) is None else _text(child) for name, child in value.items()}
        else:
            found[key] = _prepared(value, complaints, at)
    return found


def _check_arguments(plugin: TierPlugin, path: Path, complaints: Complaints) -> None:
    """Check the arguments of the plugins that are ours; others look at theirs when they are made."""
    if plugin.name not in PLUGINS:
        return
    known = ARGUMENTS.get(plugin.name, {})
    for name, value in plugin.arguments.items():
        at = (*path, name)
        if not known:
            complaints.add(at, f"{plugin.name} takes no arguments; leave it out")
        elif name not in known:
            complaints.unreadable(at, f"unknown argument {shown(name)}; {meant(name, known)}")
        elif known[name] is int and not _WHOLE.fullmatch(value):
            complaints.add(at, f"expected a whole number, got {shown(value)}")
        elif known[name] is bool and as_truth(value) is None:
            complaints.add(at, f'expected "true" or "false", got {shown(value)}')


def _with_last_arguments(tiers: tuple[Tier, ...], complaints: Complaints) -> tuple[Tier, ...]:
    """Let a plugin that stands at several places have the last arguments at each, as kube-batch does."""
    last = {plugin.name: plugin.arguments for _, plugin in _placed(tiers)}
    first: dict[str, Path] = {}
    for path, plugin in _placed(tiers):
        if plugin.name in first:
            where = path_text(first[plugin.name])
            complaints.warn(path, f"{plugin.name} stands at {where} too; it votes at both, with the last arguments")
        first.setdefault(plugin.name, path)
    return tuple(
        Tier(tuple(msgspec.structs.replace(plugin, arguments=last[plugin.name]) for plugin in tier.plugins))
        for tier in tiers
    )


# --- both -------------------------------------------------------------------------------------------------------------


def _configuration(
    profile: BatchProfile, form: Form, actions: tuple[str, ...], tiers: tuple[Tier, ...]
) -> BatchConfiguration:
    namespace_as_queue = profile.namespace_as_queue
    return BatchConfiguration(
        scheduler_name=profile.scheduler_name or SCHEDULER_NAME,
        behaviour=profile.behaviour,
        form=form,
        actions=actions,
        tiers=tiers,
        period=profile.period,
        default_queue=profile.default_queue,
        namespace_as_queue=form == "flat" if namespace_as_queue is None else namespace_as_queue,
    )


def _text(value: object) -> str | None:
    """Return a scalar as it was probably written; None for what is no scalar."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def _kind(value: object) -> str:
    if isinstance(value, str | int | float):
        return shown(value)
    return "nothing" if value is None else "a map" if isinstance(value, Mapping) else "a list"
