"""What is in force, in our form, each value with where it comes from: the default, a file's line, or a flag.

Plugin sets are written out point by point, so that nothing is left to be merged.
Invariant: what is shown, given back as a file, is the same configuration.
Not here: how it is written (yamltext.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path as FilePath
from typing import Final, NamedTuple, TypeAlias

import msgspec

from bayplan.config import strict
from bayplan.config.arguments import arguments_of, is_gated
from bayplan.config.batch import LoadedBatch
from bayplan.config.batch_shown import written
from bayplan.config.complaints import Complaints, Path
from bayplan.config.files import Loaded
from bayplan.config.kubescheduler import KubeSchedulerConfiguration, SchedulerProfile, completed
from bayplan.config.ours import BayplanConfiguration, bind_limits
from bayplan.config.plugin_sets import EVERY, MULTI_POINT, SCORES, Order, ordered
from bayplan.config.policy import Policy, Predicate, Priority, in_force
from bayplan.config.policy_names import PREDICATES, PRIORITIES
from bayplan.config.yamltext import Node, Value
from bayplan.framework.places import POINTS
from bayplan.framework.plugin import Gates
from bayplan.framework.registry import Registry

OriginOf: TypeAlias = Callable[[Path], str]

DEFAULT: Final = "default"
_BY_POLICY: Final = "default under a Policy"
_MANDATORY: Final = "mandatory"


class Flags(NamedTuple):
    """What was said on the command line."""

    plugins: tuple[str, ...] = ()
    provider: tuple[str, Policy] | None = None


def shown(loaded: Loaded | None, registry: Registry, gates: Gates, flags: Flags) -> Node:
    """Return what is in force; without a file, the defaults."""
    given = loaded.configuration if loaded is not None else None
    settings = given if isinstance(given, BayplanConfiguration) else BayplanConfiguration()
    origin = _origin_of(loaded) if isinstance(given, BayplanConfiguration) else _defaults
    inner = loaded.scheduling if loaded is not None else None
    scheduling = inner.configuration if inner is not None else None
    inner_origin = _origin_of(inner)
    if flags.provider is not None:
        name, scheduling = flags.provider
        inner_origin = _said(f"flag --algorithm-provider {name}")
    tree: dict[str, Node] = {
        "apiVersion": Value(settings.api_version),
        "kind": Value(settings.kind),
    }
    if isinstance(scheduling, Policy):
        tree["kubeScheduler"] = _policy(scheduling, inner_origin)
    else:
        configuration = scheduling if isinstance(scheduling, KubeSchedulerConfiguration) else None
        known = _Known(registry, gates, inner_origin, "flag --plugin or plugins below")
        tree["kubeScheduler"] = _kube_scheduler(completed(configuration or KubeSchedulerConfiguration()), known)
    folder = FilePath(loaded.file).parent if loaded is not None else FilePath()
    batches = loaded.batches if loaded is not None else ()
    tree["batch"] = [_batch(one, origin, ("batch", place)) for place, one in enumerate(batches)] or Value([], DEFAULT)
    tree["bindPods"] = _bind(settings, scheduling, origin)
    tree["budgets"] = _plain(settings.budgets, origin, ("budgets",))
    tree["plugins"] = _plugins(settings, flags, folder, origin)
    return tree


# --- where values come from -------------------------------------------------------------------------------------------


def _defaults(path: Path) -> str:  # noqa: ARG001 the form of every origin
    return DEFAULT


def _said(words: str) -> OriginOf:
    return lambda path: words  # noqa: ARG005 as above


def _origin_of(loaded: Loaded | None) -> OriginOf:
    """Return what says of a path on which line of which file it was written."""
    return _defaults if loaded is None else _origin_in(loaded)


def _origin_in(loaded: Loaded | LoadedBatch) -> OriginOf:
    def ask(path: Path) -> str:
        if not _is_written(loaded.tree, path):
            return DEFAULT
        line = loaded.place_of(path)[0]
        return ":".join([loaded.file or "given", *([str(line)] if line else [])])

    return ask


def _is_written(tree: object, path: Path) -> bool:
    """Say whether there is a value at a path, whatever the case of old files' field names."""
    for step in path:
        if isinstance(tree, Mapping) and isinstance(step, str):
            key = step if step in tree else next((key for key in tree if key.lower() == step.lower()), None)
            if key is None:
                return False
            tree = tree[key]
        elif isinstance(tree, list | tuple) and isinstance(step, int) and step < len(tree):
            tree = tree[step]
        else:
            return False
    return tree is not None


# --- our own part -----------------------------------------------------------------------------------------------------


def _plain(value: object, origin: OriginOf, path: Path) -> Node:
    """Return decoded values as a tree with their origins."""
    return _noted(strict.plain(value), origin, path)


def _noted(tree: object, origin: OriginOf, path: Path) -> Node:
    if isinstance(tree, Mapping) and tree:
        return {str(key): _noted(child, origin, (*path, key)) for key, child in tree.items()}
    if isinstance(tree, list | tuple) and tree:
        return [_noted(child, origin, (*path, place)) for place, child in enumerate(tree)]
    return Value(tree, origin(path))


def _bind(settings: BayplanConfiguration, scheduling: object, origin: OriginOf) -> Node:
    given = settings.bind_pods
    part = scheduling if isinstance(scheduling, Policy | KubeSchedulerConfiguration) else None
    limits = bind_limits(given, part)
    absent = _BY_POLICY if isinstance(part, Policy) else DEFAULT
    return {
        name: Value(value, absent if before is None else origin(("bindPods", name)))
        for name, value, before in (("qps", limits.qps, given.qps), ("burst", limits.burst, given.burst))
    }


def _batch(loaded: LoadedBatch, origin: OriginOf, path: Path) -> Node:
    """Return a batch profile, with what its file says in place of the file's name."""
    found = loaded.configuration
    by_form = "default of the flat map" if found.form == "flat" else "default of tiers"
    said = origin((*path, "namespaceAsQueue"))
    return {
        "schedulerName": Value(found.scheduler_name, origin((*path, "schedulerName"))),
        "conf": written(found, _origin_in(loaded)),
        "behaviour": Value(found.behaviour, origin((*path, "behaviour"))),
        "period": Value(str(found.period), origin((*path, "period"))),
        "defaultQueue": Value(found.default_queue, origin((*path, "defaultQueue"))),
        "namespaceAsQueue": Value(found.namespace_as_queue, by_form if said == DEFAULT else said),
    }


def _plugins(settings: BayplanConfiguration, flags: Flags, folder: FilePath, origin: OriginOf) -> Node:
    found = [Value(_full(given, folder), origin(("plugins", place))) for place, given in enumerate(settings.plugins)]
    found += [Value(_full(given, FilePath()), "flag --plugin") for given in flags.plugins]
    return found or Value([], DEFAULT)


def _full(given: str, folder: FilePath) -> str:
    """Return what names a rule from wherever it is read."""
    return given if ":" in given else str((folder / given).resolve())


# --- the old Policy ---------------------------------------------------------------------------------------------------


def _policy(policy: Policy, origin: OriginOf) -> Node:
    full = in_force(policy)
    rest = _plain(msgspec.structs.replace(full, predicates=None, priorities=None), origin, ())
    tree = dict(rest) if isinstance(rest, Mapping) else {}
    given = len(policy.predicates or ())
    tree["predicates"] = [
        _rule(
            predicate,
            origin if place < given else _said(DEFAULT if policy.predicates is None else _MANDATORY),
            ("predicates", place),
            _today_filter(predicate),
        )
        for place, predicate in enumerate(full.predicates or ())
    ]
    is_given = bool(policy.priorities)
    tree["priorities"] = [
        _rule(priority, origin if is_given else _defaults, ("priorities", place), _today_score(priority))
        for place, priority in enumerate(full.priorities or ())
    ]
    if not policy.hard_pod_affinity_symmetric_weight:
        tree["hardPodAffinitySymmetricWeight"] = Value(full.hard_pod_affinity_symmetric_weight, DEFAULT)
    return tree


def _rule(rule: Predicate | Priority, origin: OriginOf, path: Path, today: str) -> Node:
    """Return one rule, without what it does not say, and with what it is today."""
    tree = _plain(rule, origin, path)
    fields = dict(tree) if isinstance(tree, Mapping) else {}
    argument = fields.pop("argument", None)
    fields["name"] = Value(rule.name, f"{origin((*path, 'name'))}; today {today}")
    if isinstance(argument, Mapping):
        fields["argument"] = {
            key: child for key, child in argument.items() if not isinstance(child, Value) or child.value is not None
        }
    return fields


def _today_filter(predicate: Predicate) -> str:
    if predicate.argument is not None:
        return "LabelsPresence" if predicate.argument.labels_presence is not None else "ServiceAffinity"
    known = PREDICATES.get(predicate.name)
    return predicate.name if known is None else ", ".join(known.plugins)


def _today_score(priority: Priority) -> str:
    argument = priority.argument
    if argument is not None:
        if argument.label_preference is not None:
            return "LabelPreference"
        return "NodeResourcesFit" if argument.service_anti_affinity is None else "ServiceAntiAffinity"
    known = PRIORITIES.get(priority.name)
    return priority.name if known is None else known.plugin


# --- kube-scheduler's configuration -----------------------------------------------------------------------------------


class _Known(NamedTuple):
    """What showing a profile needs besides the profile."""

    registry: Registry
    gates: Gates
    origin: OriginOf
    by_hand: str


def _kube_scheduler(configuration: KubeSchedulerConfiguration, known: _Known) -> Node:
    rest = _plain(msgspec.structs.replace(configuration, profiles=()), known.origin, ())
    tree = dict(rest) if isinstance(rest, Mapping) else {}
    tree["profiles"] = [
        _profile(profile, known, ("profiles", place)) for place, profile in enumerate(configuration.profiles)
    ]
    return tree


def _profile(profile: SchedulerProfile, known: _Known, path: Path) -> Node:
    order = ordered(profile, known.registry, Complaints(), path)
    spelled = _spelled(profile, known.registry)
    sets: dict[str, Node] = {MULTI_POINT: {"disabled": [{"name": Value(EVERY, "written out below")}]}}
    for point in POINTS:
        sets[point] = {"enabled": _listed(point, order, spelled, known)}
    origin = known.origin
    return {
        "schedulerName": Value(profile.scheduler_name, origin((*path, "schedulerName"))),
        "percentageOfNodesToScore": Value(
            profile.percentage_of_nodes_to_score, origin((*path, "percentageOfNodesToScore"))
        ),
        "plugins": sets,
        "pluginConfig": _arguments(profile, order, known, path),
    }


def _spelled(profile: SchedulerProfile, registry: Registry) -> dict[str, str]:
    """Return how rules were spelled that go by module:Class."""
    plugins = profile.plugins
    sets = (getattr(plugins, field) for field in plugins.__struct_fields__)
    return {registry.canonical(entry.name): entry.name for one in sets for entry in one.enabled if ":" in entry.name}


def _listed(point: str, order: Order, spelled: Mapping[str, str], known: _Known) -> Node:
    found: list[Node] = []
    for name in order.points[point]:
        where = order.paths.get(name)
        said = known.by_hand if name in known.registry.by_hand else DEFAULT
        origin = said if where is None else known.origin((*where, "name"))
        entry: dict[str, Node] = {"name": Value(spelled.get(name, name), origin)}
        if point in SCORES:
            weight = order.weights.get(name, 1)
            entry["weight"] = Value(weight, said if where is None else known.origin((*where, "weight")))
        found.append(entry)
    return found or Value([], DEFAULT)


def _arguments(profile: SchedulerProfile, order: Order, known: _Known, path: Path) -> Node:
    """Return the arguments of every rule that is on and takes any, in the order in which the rules are met."""
    found: list[Node] = []
    written = {entry.name: place for place, entry in enumerate(profile.plugin_config)}
    names = dict.fromkeys(name for names in order.points.values() for name in names)
    for name in (*names, *(name for name in written if name not in names)):
        arguments = arguments_of(profile, name, known.registry, known.gates)
        if arguments is None:
            continue
        where: Path = (*path, "pluginConfig", written[name], "args") if name in written else ()
        tree = strict.plain(arguments)
        fields = tree if isinstance(tree, Mapping) else {}
        kept = {key: value for key, value in fields.items() if value or not is_gated(name, key, known.gates)}
        origin = known.origin if where else _defaults
        found.append({"name": Value(name), "args": _noted(kept, origin, where)})
    return found or Value([], DEFAULT)
