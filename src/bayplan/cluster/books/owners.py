"""Services and the controllers of pods: whose pods a pod would be spread among by default.

Not here: spreading itself (plugins).
"""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.api.objects import OwnerReference, Pod
from bayplan.api.selectors import Selector, SelectorError
from bayplan.api.workloads import ReplicaSet, ReplicationController, Service, StatefulSet
from bayplan.cluster.books import Book
from bayplan.cluster.ticks import Ticks

Owner = ReplicaSet | ReplicationController | StatefulSet
API_VERSIONS = {"ReplicationController": "v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1"}


class Owners:
    """Services by namespace, and controllers by kind and name."""

    def __init__(self, ticks: Ticks) -> None:
        self.services: Book[dict[str, Service]] = Book(ticks)  # by namespace: name -> service
        self.controllers: Book[Owner] = Book(ticks)  # "Kind namespace/name"
        self._last: tuple[Pod, int, Mapping[str, Mapping[str, str]]] | None = None  # the pod asked about last

    def put_service(self, service: Service) -> None:
        """Take over a service."""
        meta = service.metadata
        self.services.put(meta.namespace, {**(self.services.get(meta.namespace) or {}), meta.name: service})

    def drop_service(self, service: Service) -> None:
        """Forget a service."""
        meta = service.metadata
        rest = {name: other for name, other in (self.services.get(meta.namespace) or {}).items() if name != meta.name}
        self.services.put(meta.namespace, rest)

    def put_controller(self, owner: Owner) -> None:
        """Take over a controller."""
        self.controllers.put(_key(type(owner).__name__, owner.metadata.namespace, owner.metadata.name), owner)

    def drop_controller(self, owner: Owner) -> None:
        """Forget a controller."""
        self.controllers.drop(_key(type(owner).__name__, owner.metadata.namespace, owner.metadata.name))

    def default_selector(self, pod: Pod) -> Selector | None:
        """Return the selector of the pod's services and controller together, or None when they name nothing."""
        pairs: dict[str, str] = {}
        for selector in self._selecting(pod).values():
            pairs.update(selector)
        selector_of_owner = None
        owner = self._controller_of(pod)
        if isinstance(owner, ReplicationController):
            pairs.update(owner.spec.selector or {})
        elif owner is not None:
            try:
                selector_of_owner = Selector.of(owner.spec.selector)
            except SelectorError:  # upstream ignores it, too
                selector_of_owner = None
        whole = Selector.of_map(pairs)
        if selector_of_owner is not None:
            whole = whole.and_also(selector_of_owner)
        return None if whole.is_empty else whole

    def first_service(self, pod: Pod) -> Mapping[str, str] | None:
        """Return what the first of the pod's services, by name, selects."""
        selecting = self._selecting(pod)
        return selecting[min(selecting)] if selecting else None

    def _selecting(self, pod: Pod) -> Mapping[str, Mapping[str, str]]:
        """Return what the services that select a pod select, by their names; asked twice of a pod, answered once."""
        last = self._last
        if last is not None and last[0] is pod and last[1] == self.services.version:
            return last[2]
        labels = pod.metadata.labels.items()
        found = {
            name: service.spec.selector
            for name, service in (self.services.get(pod.metadata.namespace) or {}).items()
            if service.spec.selector is not None and service.spec.selector.items() <= labels
        }
        self._last = (pod, self.services.version, found)
        return found

    def _controller_of(self, pod: Pod) -> Owner | None:
        reference = next((owner for owner in pod.metadata.owner_references if owner.controller), None)
        if reference is None or not _is_known(reference):
            return None
        return self.controllers.get(_key(reference.kind, pod.metadata.namespace, reference.name))


def _is_known(reference: OwnerReference) -> bool:
    return API_VERSIONS.get(reference.kind) == reference.api_version


def _key(kind: str, namespace: str, name: str) -> str:
    return f"{kind} {namespace}/{name}"
