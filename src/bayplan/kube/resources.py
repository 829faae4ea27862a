"""Resources: under which path each kind is read, and which of its objects we want.

Invariant: a kind that is here has a struct in `api/decode.py`, and the name of that struct.
Not here: watching them (`watch.py`), and which of them somebody needs (`serve`).
"""

from __future__ import annotations

from typing import Final, NamedTuple
from urllib.parse import quote

from bayplan.api.decode import KINDS
from bayplan.api.objects import Object
from bayplan.api.wider import Kinds

RUNNING: Final = "status.phase!=Succeeded,status.phase!=Failed"  # who has ended is gone to a scheduler


class Resource(NamedTuple):
    """A kind of objects."""

    kind: str
    struct: type[Object]
    group: str
    version: str
    plural: str
    is_namespaced: bool
    fields: str = ""  # a selector
    namespace: str = ""  # only of this one; empty: of all

    @property
    def path(self) -> str:
        """Give the path of all of them."""
        within = f"/namespaces/{quote(self.namespace, '')}" if self.namespace else ""
        return f"{self._base}{within}/{self.plural}"

    @property
    def _base(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def name(self) -> str:
        """Give the name that roles and messages have for it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path_of(self, namespace: str, name: str) -> str:
        """Give the path of one."""
        within = f"/namespaces/{quote(namespace, '')}" if self.is_namespaced else ""
        return f"{self._base}{within}/{self.plural}/{quote(name, '')}"


# kind, group, version, plural, whether it has a namespace
_TABLE: Final = (
    ("Pod", "", "v1", "pods", True),
    ("Node", "", "v1", "nodes", False),
    ("Namespace", "", "v1", "namespaces", False),
    ("Service", "", "v1", "services", True),
    ("ReplicationController", "", "v1", "replicationcontrollers", True),
    ("PersistentVolume", "", "v1", "persistentvolumes", False),
    ("PersistentVolumeClaim", "", "v1", "persistentvolumeclaims", True),
    ("ReplicaSet", "apps", "v1", "replicasets", True),
    ("StatefulSet", "apps", "v1", "statefulsets", True),
    ("PodDisruptionBudget", "policy", "v1", "poddisruptionbudgets", True),
    ("PriorityClass", "scheduling.k8s.io", "v1", "priorityclasses", False),
    ("StorageClass", "storage.k8s.io", "v1", "storageclasses", False),
    ("CSINode", "storage.k8s.io", "v1", "csinodes", False),
    ("CSIDriver", "storage.k8s.io", "v1", "csidrivers", False),
    ("CSIStorageCapacity", "storage.k8s.io", "v1", "csistoragecapacities", True),
    ("VolumeAttachment", "storage.k8s.io", "v1", "volumeattachments", False),
    ("ResourceClaim", "resource.k8s.io", "v1", "resourceclaims", True),
    ("DeviceClass", "resource.k8s.io", "v1", "deviceclasses", False),
)


def resources(kinds: Kinds = KINDS) -> dict[str, Resource]:
    """Give every resource by its kind; the structs are those of `kinds`, which may be wider."""
    return {
        kind: Resource(kind, kinds[group, kind], group, version, plural, within, RUNNING if kind == "Pod" else "")
        for kind, group, version, plural, within in _TABLE
    }
