"""Older versions of a KubeSchedulerConfiguration, brought to today's form, with warnings that name what changed.

v1beta1 had a plugin for each strategy by which NodeResourcesFit scores today; a profile that asks for one of them asks
for that.  What is older still is refused in one sentence.
Invariant: plugins stay where they are listed, so that a complaint about one finds its line.
Not here: reading today's form (decode.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from bayplan.config.complaints import Complaints, Path, meant, shown
from bayplan.config.kubescheduler import API_VERSION, KIND

_GROUP: Final = API_VERSION.removesuffix("v1")
_SINCE_BETA_3: Final = "SelectorSpread and the volume limits by cloud are gone (PodTopologySpread, NodeVolumeLimits)"
_SINCE_BETA_2: Final = f"default weights and the addresses served have changed; {_SINCE_BETA_3}"
_OLDER: Final[Mapping[str, str]] = {
    f"{_GROUP}v1beta3": _SINCE_BETA_3,
    f"{_GROUP}v1beta2": _SINCE_BETA_2,
    f"{_GROUP}v1beta1": f"strategies of NodeResourcesFit were plugins of their own; {_SINCE_BETA_2}",
}
_TOO_OLD: Final = (f"{_GROUP}v1alpha1", f"{_GROUP}v1alpha2", "componentconfig/v1alpha1")
_ADDRESSES: Final = ("healthzBindAddress", "metricsBindAddress")
_FIT: Final = "NodeResourcesFit"
_LEAST: Final = "NodeResourcesLeastAllocated"
_RATIO: Final = "RequestedToCapacityRatio"
_STRATEGIES: Final[Mapping[str, str]] = {
    _LEAST: "LeastAllocated",
    "NodeResourcesMostAllocated": "MostAllocated",
    _RATIO: _RATIO,
}


def as_v1(tree: dict[str, object], complaints: Complaints) -> dict[str, object]:
    """Check what the tree says it is, and bring an older version to today's form."""
    kind, version = tree.get("kind"), tree.get("apiVersion")
    if kind != KIND:
        complaints.unreadable(("kind",), f'expected "{KIND}", got {_given(kind)}')
    if version == API_VERSION:
        return tree
    if version in _TOO_OLD:
        _refuse(str(version), tree, complaints)
    if not isinstance(version, str) or version not in _OLDER:
        guess = f"; {meant(version, [API_VERSION, *_OLDER])}" if isinstance(version, str) else ""
        complaints.unreadable(("apiVersion",), f'expected "{API_VERSION}", got {_given(version)}{guess}')
        return tree
    complaints.warn(("apiVersion",), f"{version} is read as {API_VERSION}: since then, {_OLDER[version]}")
    dropped = [name for name in _ADDRESSES if name in tree and not version.endswith("beta3")]
    for name in dropped:
        complaints.warn((name,), "is ignored: the addresses are flags of the daemon since v1beta3")
    found = {name: value for name, value in tree.items() if name not in dropped} | {"apiVersion": API_VERSION}
    profiles = found.get("profiles")
    if version.endswith("beta1") and isinstance(profiles, list | tuple):
        found["profiles"] = [_profile(one, complaints, ("profiles", place)) for place, one in enumerate(profiles)]
    return found


def _refuse(version: str, tree: Mapping[str, object], complaints: Complaints) -> None:
    """Raise a ConfigError in one sentence: every field of such a file would be a complaint of its own."""
    source = tree.get("algorithmSource")
    what = f"write the file as {API_VERSION}"
    if isinstance(source, Mapping) and "policy" in source:
        what = "give the Policy that algorithmSource names as the file"
    elif isinstance(source, Mapping) and "provider" in source:
        what = f"say --algorithm-provider {source['provider']} instead"
    complaints.unreadable(("apiVersion",), f"{version} is too old to be read; {what}")
    complaints.settle()


# --- v1beta1's plugins for scoring by resources -----------------------------------------------------------------------


def _profile(profile: object, complaints: Complaints, path: Path) -> object:
    """Say the one strategy of a profile as NodeResourcesFit's."""
    score = _at(profile, "plugins", "score")
    lists = {side: _named(score.get(side)) for side in ("enabled", "disabled")}
    enabled = [name for name in lists["enabled"] if name in _STRATEGIES]
    used = list(dict.fromkeys(enabled if {_LEAST, "*"} & set(lists["disabled"]) else [_LEAST, *enabled]))
    if not isinstance(profile, Mapping) or not (_names_strategy(lists.values()) or _configured(profile)):
        return profile
    if len(used) > 1:
        complaints.add(
            (*path, "plugins", "score"),
            f"scores by {' and '.join(used)}: {_FIT} has one strategy in a profile today; disable the others",
        )
        return profile
    if used:
        complaints.warn((*path, "plugins", "score"), f"{used[0]} is {_FIT}'s strategy {_STRATEGIES[used[0]]} today")
    renamed = {**score, **{side: _renamed(score[side]) for side in lists if side in score}}
    plugins = {**_at(profile, "plugins"), "score": renamed}
    return {**profile, "plugins": plugins, "pluginConfig": _arguments(profile, used)}


def _names_strategy(lists: Iterable[list[str]]) -> bool:
    return any(name in _STRATEGIES for names in lists for name in names)


def _configured(profile: Mapping[str, object]) -> bool:
    return _names_strategy([_named(profile.get("pluginConfig"))])


def _arguments(profile: Mapping[str, object], used: list[str]) -> list[object]:
    """Return the arguments of plugins, those of the strategy among those of NodeResourcesFit."""
    given = profile.get("pluginConfig")
    entries = list(given) if isinstance(given, list | tuple) else []
    of_strategies = {_name(entry): _at(entry, "args") for entry in entries if _name(entry) in _STRATEGIES}
    if not used:
        return [entry for entry in entries if _name(entry) not in _STRATEGIES]
    args = of_strategies.get(used[0], {})
    strategy: dict[str, object] = {"type": _STRATEGIES[used[0]]}
    if args.get("resources"):
        strategy["resources"] = args["resources"]
    if used[0] == _RATIO:
        strategy["requestedToCapacityRatio"] = {"shape": args.get("shape")}
    fit = next((_at(entry, "args") for entry in entries if _name(entry) == _FIT), {})
    kept = [entry for entry in entries if _name(entry) not in {*_STRATEGIES, _FIT}]
    return [*kept, {"name": _FIT, "args": {**fit, "scoringStrategy": strategy}}]


def _renamed(entries: object) -> object:
    """Name NodeResourcesFit where a strategy is named."""
    if not isinstance(entries, list | tuple):
        return entries
    return [
        {**entry, "name": _FIT} if isinstance(entry, Mapping) and _name(entry) in _STRATEGIES else entry
        for entry in entries
    ]


def _named(entries: object) -> list[str]:
    return [_name(entry) for entry in entries] if isinstance(entries, list | tuple) else []


def _name(entry: object) -> str:
    return str(entry.get("name")) if isinstance(entry, Mapping) else ""


def _at(tree: object, *path: str) -> Mapping[str, object]:
    """Return the map at a path; an empty one where there is none."""
    for step in path:
        tree = tree.get(step) if isinstance(tree, Mapping) else None
    return tree if isinstance(tree, Mapping) else {}


def _given(value: object) -> str:
    return "nothing" if value is None else shown(value)
