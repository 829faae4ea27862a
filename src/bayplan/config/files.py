"""Configuration files, told apart by what is in them: the one way from a path to a configuration.

A known form that is not read here is refused by name, so that nobody looks for a typo in the wrong file.
Invariant: what is loaded can be made profiles of, but for rules that refuse their arguments.
Not here: decoding each of the forms (decode.py, policy_decode.py, ours_decode.py, batch.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Final, NamedTuple, TypeAlias

import msgspec

from bayplan.config import kubescheduler, ours, policy, source
from bayplan.config.batch import LoadedBatch, load_batch, read_batch
from bayplan.config.complaints import Complaint, Complaints, ConfigError, Path, Place, meant, nowhere, path_text, shown
from bayplan.config.decode import decode_source
from bayplan.config.forms import is_batch, is_headless, is_ours, is_policy, unwrapped
from bayplan.config.kubescheduler import Extender
from bayplan.config.ours import BatchProfile, BayplanConfiguration, Scheduling
from bayplan.config.ours_decode import check_batch, decode_ours, used
from bayplan.config.policy_decode import decode_policy
from bayplan.framework.plugin import NO_GATES, Gates
from bayplan.framework.registry import Registry
from bayplan.framework.tiers import SCHEDULER_NAME

Configuration: TypeAlias = Scheduling | BayplanConfiguration

KINDS: Final = (kubescheduler.KIND, policy.KIND, ours.KIND)
INNER: Final = "kubeScheduler"
_EXPECTED: Final = (
    f"a {kubescheduler.KIND}, a {policy.KIND}, a {ours.KIND}, or kube-batch's `actions` with `tiers` or `plugins`"
)
_FOREIGN: Final = {
    "Scheduler": "OpenShift's names a ConfigMap as its spec.policy: give that",
    "ClusterConfiguration": "kubeadm's names the file as scheduler.extraArgs.config: give that",
    "DeschedulerPolicy": "that is the descheduler's, which evicts and does not schedule",
}


class Loaded(NamedTuple):
    """A configuration, what was odd about it, and where its values stand."""

    configuration: Configuration
    warnings: tuple[Complaint, ...]
    place_of: Callable[[Path], Place]
    tree: Mapping[str, object]  # as it was written
    file: str
    inner: Loaded | None = None  # kube-scheduler's part of our own settings
    batches: tuple[LoadedBatch, ...] = ()  # what the batch profiles of our own settings name, in their order

    @property
    def scheduling(self) -> Loaded | None:
        """Return kube-scheduler's part, wherever it stood; None where our settings name none."""
        return self.inner if isinstance(self.configuration, BayplanConfiguration) else self

    @property
    def extenders(self) -> tuple[Extender, ...]:
        """Return the extenders that are asked for."""
        found = self.scheduling
        if found is None or isinstance(found.configuration, BayplanConfiguration):
            return ()
        return found.configuration.extenders


def load(path: FilePath, registry: Registry, gates: Gates = NO_GATES) -> Loaded:
    """Read a configuration file; raise a ConfigError with all that is wrong."""
    return read(source.of_file(path), registry, gates, path.parent)


def read(found: source.Source, registry: Registry, gates: Gates, folder: FilePath | None = None) -> Loaded:
    """Decode what was read from somewhere; paths in it start from a folder."""
    found = unwrapped(found)
    tree, complaints = found.tree, found.complaints
    if is_batch(tree):
        return _kube_batch(found)
    if is_headless(tree):
        complaints.unreadable((), f"this is none of the forms that are read: {_EXPECTED}")
        complaints.settle()
    if is_ours(tree):
        return _ours(found, registry, gates, folder or FilePath())
    if is_policy(tree):
        decoded = decode_policy(tree, registry, complaints)
        complaints.settle()
        return Loaded(decoded, tuple(complaints.warnings), complaints.place_of, tree, complaints.file)
    kind = tree.get("kind")
    if isinstance(kind, str) and kind not in KINDS:
        complaints.unreadable(("kind",), f"unknown kind {shown(kind)}; {_meant_kind(kind)}")
        complaints.settle()
    configuration, warnings, place_of = decode_source(found, registry, gates)
    return Loaded(configuration, warnings, place_of, tree, complaints.file)


def refuse_batches(loaded: Loaded) -> None:
    """Raise a ConfigError that names every batch profile, for whoever would have to run sessions and cannot yet."""
    complaints = Complaints(loaded.file, loaded.place_of)
    for place, batch in enumerate(loaded.batches):
        complaints.add(
            ("batch", place) if loaded.tree else (),
            f"pods of {shown(batch.configuration.scheduler_name)} are scheduled in sessions, which are not run here "
            f"yet; leave the {'profile' if loaded.tree else 'file'} out to see what others decide",
        )
    complaints.settle()


def refuse_extenders(loaded: Loaded) -> None:
    """Raise a ConfigError that names every extender, for whoever would have to ask them and cannot yet."""
    found = loaded.scheduling
    if found is None or not loaded.extenders:
        return
    complaints = Complaints(found.file, found.place_of)
    for place, extender in enumerate(loaded.extenders):
        complaints.add(
            ("extenders", place),
            f"the extender {shown(extender.url_prefix)} would have to be asked, which is not built yet; "
            "leave it out to see what the rules alone decide",
        )
    complaints.settle()


def _meant_kind(kind: str) -> str:
    """Say what to give instead of a file of another kind."""
    return _FOREIGN.get(kind) or meant(kind, KINDS)


def _kube_batch(found: source.Source) -> Loaded:
    """Read one of kube-batch's files as settings of ours with one batch profile, which has kube-batch's name."""
    profile = BatchProfile(scheduler_name=SCHEDULER_NAME)
    batch = read_batch(found, profile)
    settings = BayplanConfiguration(batch=(profile,))
    return Loaded(settings, batch.warnings, nowhere, {}, batch.file, batches=(batch,))


def _ours(found: source.Source, registry: Registry, gates: Gates, folder: FilePath) -> Loaded:
    complaints = found.complaints
    settings = decode_ours(found.tree, complaints)
    used(settings.plugins, registry, complaints, folder)
    inner = None
    try:
        inner = _inner(found, settings.kube_scheduler, registry, gates, folder)
    except ConfigError as error:
        complaints.found += error.complaints
    decoded = None if inner is None else inner.configuration
    check_batch(settings, decoded, complaints)
    batches = tuple(_batches(settings, complaints, folder))
    complaints.settle()
    parts = (*(() if inner is None else (inner,)), *batches)
    warnings = (*complaints.warnings, *(warning for part in parts for warning in part.warnings))
    settings = msgspec.structs.replace(settings, kube_scheduler=decoded)
    return Loaded(settings, warnings, complaints.place_of, found.tree, complaints.file, inner, batches)


def _batches(settings: BayplanConfiguration, complaints: Complaints, folder: FilePath) -> Iterator[LoadedBatch]:
    """Read what each batch profile names; what is wrong with it is added to the complaints."""
    for place, profile in enumerate(settings.batch):
        path: Path = ("batch", place, "conf")
        try:
            batch = load_batch(profile, folder, complaints.below(path))
        except ConfigError as error:
            complaints.found += _below(path, error.complaints, profile.conf)
        else:
            yield batch._replace(warnings=tuple(_below(path, batch.warnings, profile.conf)))


def _inner(found: source.Source, given: object, registry: Registry, gates: Gates, folder: FilePath) -> Loaded | None:
    """Read kube-scheduler's part: inline, or from the file that is named."""
    outer = found.complaints
    if given is None:
        return None
    if isinstance(given, str):
        loaded = load(folder / given, registry, gates)
    elif isinstance(given, Mapping):
        complaints = outer.below((INNER,))
        try:
            loaded = read(source.Source(_completed(given), complaints), registry, gates, folder)
        except ConfigError as error:
            raise ConfigError(_below((INNER,), error.complaints, given)) from None
        loaded = loaded._replace(tree=given, warnings=tuple(_below((INNER,), loaded.warnings, given)))
    else:
        outer.unreadable((INNER,), f"expected a path or a map, got {shown(given)}")
        return None
    if isinstance(loaded.configuration, BayplanConfiguration):
        outer.unreadable((INNER,), f"expected a {kubescheduler.KIND} or a {policy.KIND}, got a {ours.KIND}")
    return loaded


def _completed(tree: Mapping[str, object]) -> dict[str, object]:
    """Say what an inline part is where it does not itself."""
    if is_policy(tree) or "kind" in tree:
        return dict(tree)
    return {"apiVersion": kubescheduler.API_VERSION, "kind": kubescheduler.KIND, **tree}


def _below(outer: Path, complaints: Iterable[Complaint], given: object) -> Iterator[Complaint]:
    """Give complaints about an inline part their whole path; those about another file have it."""
    for complaint in complaints:
        path = ".".join(part for part in (path_text(outer), complaint.path) if part)
        yield complaint if isinstance(given, str) else msgspec.structs.replace(complaint, path=path)
