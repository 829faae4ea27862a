"""Configuration files, told apart by what is in them: the one way from a path to a configuration.

Forms that are known but not read here are refused by name, so that nobody looks for a typo in the wrong file.
Invariant: what is loaded can be made profiles of, but for rules that refuse their arguments.
Not here: decoding each of the forms (decode.py, policy_decode.py, ours_decode.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path as FilePath
from typing import Final, NamedTuple, TypeAlias

import msgspec

from bayplan.config import kubescheduler, ours, policy, source
from bayplan.config.complaints import Complaint, Complaints, ConfigError, Path, Place, meant, shown
from bayplan.config.decode import decode_source
from bayplan.config.kubescheduler import Extender
from bayplan.config.ours import BayplanConfiguration, Scheduling
from bayplan.config.ours_decode import check_batch, decode_ours, used
from bayplan.config.policy_decode import decode_policy
from bayplan.framework.plugin import NO_GATES, Gates
from bayplan.framework.registry import Registry

Configuration: TypeAlias = Scheduling | BayplanConfiguration

KINDS: Final = (kubescheduler.KIND, policy.KIND, ours.KIND)
INNER: Final = "kubeScheduler"
_EXPECTED: Final = f"{kubescheduler.KIND} {kubescheduler.API_VERSION}, {policy.KIND} or {ours.KIND}"


class Loaded(NamedTuple):
    """A configuration, what was odd about it, and where its values stand."""

    configuration: Configuration
    warnings: tuple[Complaint, ...]
    place_of: Callable[[Path], Place]
    tree: Mapping[str, object]  # as it was written
    file: str
    inner: Loaded | None = None  # kube-scheduler's part of our own settings

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
    tree, complaints = found.tree, found.complaints
    form = _other_form(tree)
    if form is not None:
        complaints.unreadable((), f"this is {form}; expected {_EXPECTED}")
        complaints.settle()
    if _is_ours(tree):
        return _ours(found, registry, gates, folder or FilePath())
    if is_policy(tree):
        decoded = decode_policy(tree, registry, complaints)
        complaints.settle()
        return Loaded(decoded, tuple(complaints.warnings), complaints.place_of, tree, complaints.file)
    kind = tree.get("kind")
    if isinstance(kind, str) and kind not in KINDS:
        complaints.unreadable(("kind",), f"unknown kind {shown(kind)}; {meant(kind, KINDS)}")
        complaints.settle()
    configuration, warnings, place_of = decode_source(found, registry, gates)
    return Loaded(configuration, warnings, place_of, tree, complaints.file)


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


def is_policy(tree: Mapping[str, object]) -> bool:
    """Say whether a tree is a Policy: by its kind, or by its lists where it names none."""
    small = {key.lower(): key for key in tree}
    if "kind" in small:
        return tree[small["kind"]] == policy.KIND
    return not small.keys().isdisjoint({"predicates", "priorities"})


def _is_ours(tree: Mapping[str, object]) -> bool:
    version = tree.get("apiVersion")
    return tree.get("kind") == ours.KIND or (isinstance(version, str) and version.startswith(ours.GROUP))


def _other_form(tree: Mapping[str, object]) -> str | None:
    """Name the form of a file that is none of those read here."""
    if "kind" not in tree and "tiers" in tree:
        return "a configuration of kube-batch or Volcano (actions and tiers), which is not read yet"
    if "kind" not in tree and ("actions" in tree or any(key.startswith("plugin.") for key in tree)):
        return "a configuration of kube-batch or Volcano (the flat map of its first versions), which is not read yet"
    if tree.get("kind") == "ConfigMap":
        return "a ConfigMap; give what is in its data as a file of its own"
    return None


def _ours(found: source.Source, registry: Registry, gates: Gates, folder: FilePath) -> Loaded:
    complaints = found.complaints
    settings = decode_ours(found.tree, complaints)
    used(settings.plugins, registry, complaints, folder)
    inner = None
    try:
        inner = _inner(found, settings.kube_scheduler, registry, gates, folder)
    except ConfigError as error:
        complaints.found += error.complaints
    check_batch(settings, None if inner is None else inner.configuration, complaints)
    complaints.settle()
    decoded = None if inner is None else inner.configuration
    warnings = (*complaints.warnings, *(() if inner is None else inner.warnings))
    settings = msgspec.structs.replace(settings, kube_scheduler=decoded)
    return Loaded(settings, warnings, complaints.place_of, found.tree, complaints.file, inner)


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
            raise ConfigError(_below(one) for one in error.complaints) from None
        loaded = loaded._replace(tree=given, warnings=tuple(_below(one) for one in loaded.warnings))
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


def _below(complaint: Complaint) -> Complaint:
    path = ".".join(part for part in (INNER, complaint.path) if part)
    return msgspec.structs.replace(complaint, path=path)
