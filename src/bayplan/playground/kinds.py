"""The kinds that are served: their groups, names, scopes and subresources, and those that definitions add.

Invariant: a kind is found by its group, version and plural in one lookup, and what is not registered is not served.
Not here: what is peculiar to a kind (`admission.py`, `subresources.py`, `tables.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from bayplan.playground.trees import Map, items, maps, text


class Kind(msgspec.Struct, frozen=True):
    """One kind of objects, in one version of its group."""

    group: str
    version: str
    name: str
    plural: str
    singular: str
    namespaced: bool = True
    short: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    generations: bool = False  # whether metadata.generation counts changes of the spec
    ephemeral: bool = False  # only ever posted: a review
    custom: bool = False  # of a CustomResourceDefinition: strategic merge does not know it
    made_by_update: bool = False  # whether an update of what is not there makes it
    needs_version: bool = False  # whether an update must say which state it is of
    leaves_dependents: bool = False  # whether a deletion that says nothing of dependents leaves them: older than that
    stored_as: tuple[str, str] = ("", "")  # the shelf: the group and plural whose objects these are

    @property
    def api_version(self) -> str:
        """Give group and version as objects name them."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """Give plural and group as messages name them."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def qualified(self) -> str:
        """Give kind and group as messages about validity name them."""
        return f"{self.name}.{self.group}" if self.group else self.name

    @property
    def has_status(self) -> bool:
        """Say whether the status is written by its own subresource."""
        return "status" in self.subresources

    @property
    def verbs(self) -> tuple[str, ...]:
        """Name what may be done."""
        if self.ephemeral:
            return ("create",)
        return ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


# group/version; then a kind a line: name, plural, flags (n: namespaced, s: status, c: scale, g: generations,
# e: ephemeral, u: made by update, v: needs a version, d: leaves dependents), short names, categories
_TABLE: Final = """
v1
  Pod pods nsg po all
  Node nodes s no
  Namespace namespaces s ns
  Event events nu ev
  Service services nsu svc all
  ReplicationController replicationcontrollers nscgd rc all
  PersistentVolume persistentvolumes s pv
  PersistentVolumeClaim persistentvolumeclaims ns pvc
  ConfigMap configmaps n cm
  Secret secrets n
  ServiceAccount serviceaccounts n sa
  ResourceQuota resourcequotas ns quota
  LimitRange limitranges nu limits
  Endpoints endpoints nu ep
apps/v1
  ReplicaSet replicasets nscg rs all
  StatefulSet statefulsets nscg sts all
  Deployment deployments nscg deploy all
  DaemonSet daemonsets nsg ds all
  ControllerRevision controllerrevisions n
batch/v1
  Job jobs nsgd - all
  CronJob cronjobs nsg cj all
events.k8s.io/v1
  Event events nu ev
coordination.k8s.io/v1
  Lease leases nuv
scheduling.k8s.io/v1
  PriorityClass priorityclasses g pc
scheduling.k8s.io/v1beta1
  Workload workloads nv
  PodGroup podgroups nsv
policy/v1
  PodDisruptionBudget poddisruptionbudgets nsgv pdb
storage.k8s.io/v1
  StorageClass storageclasses - sc
  CSINode csinodes v
  CSIDriver csidrivers v
  CSIStorageCapacity csistoragecapacities nv
  VolumeAttachment volumeattachments sv
resource.k8s.io/v1
  ResourceClaim resourceclaims ns
  ResourceClaimTemplate resourceclaimtemplates n
  ResourceSlice resourceslices g
  DeviceClass deviceclasses g
  DeviceTaintRule devicetaintrules sgv
authentication.k8s.io/v1
  TokenReview tokenreviews e
authorization.k8s.io/v1
  SubjectAccessReview subjectaccessreviews e
  SelfSubjectAccessReview selfsubjectaccessreviews e
rbac.authorization.k8s.io/v1
  Role roles nu
  RoleBinding rolebindings nu
  ClusterRole clusterroles u
  ClusterRoleBinding clusterrolebindings u
node.k8s.io/v1
  RuntimeClass runtimeclasses uv
discovery.k8s.io/v1
  EndpointSlice endpointslices ng
apiextensions.k8s.io/v1
  CustomResourceDefinition customresourcedefinitions sgv crd,crds api-extensions
scheduling.incubator.k8s.io/v1alpha1
  PodGroup podgroups ng
  Queue queues g
scheduling.sigs.dev/v1alpha2
  PodGroup podgroups ng
  Queue queues g
"""
_CUSTOM: Final = frozenset({"scheduling.incubator.k8s.io", "scheduling.sigs.dev"})
_SINGULAR: Final = {"endpoints": "endpoints"}


class Kinds:
    """The register of kinds; definitions add to it and take from it."""

    def __init__(self) -> None:
        """Begin with what every cluster serves."""
        self._kinds: dict[tuple[str, str, str], Kind] = {}
        for kind in _read(_TABLE):
            self.add(kind)

    def __iter__(self) -> Iterator[Kind]:
        """Go through the kinds in the order in which they were added."""
        return iter(list(self._kinds.values()))

    def add(self, kind: Kind) -> None:
        """Serve a kind."""
        self._kinds[kind.group, kind.version, kind.plural] = kind

    def drop(self, group: str, plural: str) -> None:
        """Serve a kind no longer, in any version."""
        for key in [key for key in self._kinds if key[0] == group and key[2] == plural]:
            del self._kinds[key]

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        """Look a kind up."""
        return self._kinds.get((group, version, plural))

    def core(self, plural: str) -> Kind:
        """Give a kind of the core group, which is always served."""
        return self._kinds["", "v1", plural]

    def called(self, api_version: str, name: str) -> Kind | None:
        """Look a kind up by what an object says of itself."""
        found = (kind for kind in self if kind.name == name and kind.api_version == api_version)
        return next(found, None)

    def groups(self) -> dict[str, list[str]]:
        """Give each group's versions, the preferred one first."""
        found: dict[str, list[str]] = {}
        for kind in self:
            versions = found.setdefault(kind.group, [])
            if kind.version not in versions:
                versions.append(kind.version)
        return found

    def of(self, group: str, version: str) -> list[Kind]:
        """Give the kinds of a group's version."""
        return [kind for kind in self if kind.group == group and kind.version == version]


def defined(definition: Map) -> list[Kind]:
    """Give the kinds that a CustomResourceDefinition defines, one a served version, the storage version first."""
    spec = definition.get("spec")
    group, plural = text(spec, "group"), text(spec, "names", "plural")
    singular = text(spec, "names", "singular") or text(spec, "names", "kind").lower()
    versions = sorted(maps(spec, "versions"), key=lambda version: version.get("storage") is not True)
    return [
        Kind(
            group=group,
            version=text(version, "name"),
            name=text(spec, "names", "kind"),
            plural=plural,
            singular=singular,
            namespaced=text(spec, "scope") == "Namespaced",
            short=tuple(name for name in items(spec, "names", "shortNames") if isinstance(name, str)),
            categories=tuple(name for name in items(spec, "names", "categories") if isinstance(name, str)),
            subresources=("status",) if isinstance(version.get("subresources"), dict) else (),
            generations=True,
            custom=True,
            needs_version=True,
            stored_as=(group, plural),
        )
        for version in versions
        if version.get("served") is True and text(version, "name")
    ]


def _read(table: str) -> Iterator[Kind]:
    group = version = ""
    for line in table.strip().splitlines():
        if not line.startswith(" "):
            group, _, version = line.rpartition("/")
            continue
        name, plural, flags, short, categories, *_ = [*line.split(), "", ""]
        subresources = (*(["status"] if "s" in flags else []), *(["scale"] if "c" in flags else []))
        yield Kind(
            group=group,
            version=version,
            name=name,
            plural=plural,
            singular=_SINGULAR.get(plural, name.lower()),
            namespaced="n" in flags,
            short=tuple(one for one in short.split(",") if one not in {"", "-"}),
            categories=tuple(one for one in categories.split(",") if one),
            subresources=(*subresources, "binding", "eviction") if plural == "pods" else subresources,
            generations="g" in flags,
            ephemeral="e" in flags,
            made_by_update="u" in flags,
            needs_version="v" in flags or group in _CUSTOM,
            leaves_dependents="d" in flags,
            custom=group in _CUSTOM,
            stored_as=("", plural) if plural == "events" else (group, plural),
        )
