"""Decoding our own settings, but for kube-scheduler's part.

Not here: which file is meant and what kube-scheduler's part is (files.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path as FilePath

from bayplan.config import strict
from bayplan.config.complaints import Complaints, Path, meant, shown
from bayplan.config.kubescheduler import KubeSchedulerConfiguration
from bayplan.config.ours import API_VERSION, KIND, BayplanConfiguration
from bayplan.config.policy import Policy
from bayplan.framework.profile import DEFAULT_SCHEDULER
from bayplan.framework.registry import PluginNotLoaded, Registry


def decode_ours(tree: Mapping[str, object], complaints: Complaints) -> BayplanConfiguration:
    """Read our settings; complaints say what is wrong with them."""
    for field, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
        given = tree.get(field)
        if given != wanted:
            got = "nothing" if given is None else shown(given)
            guess = f"; {meant(given, [wanted])}" if isinstance(given, str) else ""
            complaints.unreadable((field,), f'expected "{wanted}", got {got}{guess}')
    settings = strict.decoded(tree, BayplanConfiguration, complaints) or BayplanConfiguration()
    if settings.bind_pods.qps and settings.bind_pods.burst == 0:
        complaints.add(("bindPods", "burst"), "must be at least 1 where qps is limited")
    return settings


def used(plugins: Iterable[str], registry: Registry, complaints: Complaints, folder: FilePath) -> None:
    """Take in the rules that settings name; paths start from the settings' own folder."""
    for place, given in enumerate(plugins):
        path: Path = ("plugins", place)
        if not given:
            complaints.add(path, "expected module:Class or the path of a Python file")
            continue
        try:
            registry.use(given if ":" in given else str(folder / given))
        except PluginNotLoaded as error:
            complaints.add(path, str(error))


def check_batch(settings: BayplanConfiguration, scheduling: object, complaints: Complaints) -> None:
    """Check that every scheduler name is served by one profile, and that sessions end."""
    taken: dict[str, str] = {DEFAULT_SCHEDULER: "the Policy"} if isinstance(scheduling, Policy) else {}
    if isinstance(scheduling, KubeSchedulerConfiguration):
        taken = {
            profile.scheduler_name: f"kubeScheduler.profiles[{place}]"
            for place, profile in enumerate(scheduling.profiles)
            if profile.scheduler_name
        }
    for place, profile in enumerate(settings.batch):
        path: Path = ("batch", place)
        name = profile.scheduler_name
        if not name:
            complaints.add((*path, "schedulerName"), "is required")
        elif name in taken:
            complaints.add((*path, "schedulerName"), f"{shown(name)} is taken by {taken[name]}; each needs its own")
        taken.setdefault(name, f"batch[{place}]")
        if profile.period <= 0:
            complaints.add((*path, "period"), f"must be longer than 0, not {profile.period}")
