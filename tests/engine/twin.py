"""Twin: a live table, and the objects it was told in their order of arrival, from which another can be built.

An object that changes keeps its place in that order; one that goes and comes back arrives anew.  What was assumed on
the live table is assumed on the rebuilt one; what was reserved there has been written into volumes and claims.
Not here: which objects come (changes.py), and what is asked (check.py).
"""

from collections.abc import Iterator
from typing import TypeAlias

from bayplan.api.objects import Meta, Node, Object, Pod, uid_of
from bayplan.cluster.claims import Reservation
from bayplan.cluster.columns import Row
from bayplan.cluster.fold import drop, put
from bayplan.cluster.reading import Reader
from bayplan.cluster.table import Stray, Table
from bayplan.cluster.trial import Trial

Key: TypeAlias = tuple[str, str, str]
"""Kind, namespace, name."""


def key_of(thing: Object) -> Key:
    """Return the name under which an object is kept."""
    meta: Meta = thing.metadata  # type: ignore[attr-defined]  # every kind that is folded in has it
    return type(thing).__name__, meta.namespace, meta.name


class Twin:
    """What happened, and what came of it."""

    def __init__(self) -> None:
        self.table = Table()
        self.reader = Reader(self.table)
        self.objects: dict[Key, Object] = {}
        self.assumed: dict[str, str] = {}  # uid -> node; such pods are kept unbound

    def put(self, thing: Object) -> None:
        """Tell the table of an object, new or changed."""
        put(self.table, thing)
        self.objects[key_of(thing)] = thing
        if isinstance(thing, Pod):
            self.assumed.pop(uid_of(thing), None)
            self.reader.forget(uid_of(thing))

    def drop(self, thing: Object) -> None:
        """Tell the table that an object is gone."""
        drop(self.table, thing)
        self.objects.pop(key_of(thing), None)
        if isinstance(thing, Pod):
            self.assumed.pop(uid_of(thing), None)
            self.reader.forget(uid_of(thing))

    def assume(self, pod: Pod, row: Row, reservations: tuple[object, ...]) -> None:
        """Place a pod, and take what it would be given there."""
        with Trial(self.table, cause="check") as trial:
            for reservation in reservations:
                if isinstance(reservation, Reservation):
                    taken = trial.reserve(pod, reservation, row)
                    for _, new in (*taken.volumes, *taken.claims):
                        self.objects[key_of(new)] = new
            trial.place(pod, row)
            trial.commit()
        node = self.table.nodes[row]
        assert node is not None
        self.objects[key_of(pod)] = pod
        self.assumed[uid_of(pod)] = node.metadata.name
        self.reader.forget(uid_of(pod))

    def forget(self, pod: Pod) -> None:
        """Take an assumed pod back, as when its binding has failed."""
        self.drop(pod)

    def rebuilt(self) -> Table:
        """Build a table from the objects."""
        table = Table()
        for thing in self.objects.values():
            if not (isinstance(thing, Pod) and uid_of(thing) in self.assumed):
                put(table, thing)
        for pod in self.pods():
            node = self.assumed.get(uid_of(pod))
            if node is None:
                continue
            if node in table.row_of:
                table.place(pod, table.row_of[node], is_assumed=True)
            else:
                table.strays.setdefault(node, {})[uid_of(pod)] = Stray(pod, is_assumed=True)
        return table

    # -- what there is

    def nodes(self) -> list[Node]:
        """Return the nodes, the first to arrive first."""
        return [thing for thing in self.objects.values() if isinstance(thing, Node)]

    def pods(self) -> Iterator[Pod]:
        """Yield the pods, the first to arrive first."""
        return (thing for thing in self.objects.values() if isinstance(thing, Pod))

    def waits(self, pod: Pod) -> bool:
        """Say whether a pod is on no node, not even on one that is gone."""
        uid = uid_of(pod)
        return uid not in self.table.pods and not any(uid in strays for strays in self.table.strays.values())

    def on_nodes(self) -> list[Pod]:
        """Return the pods that are bound or assumed."""
        return [pod for pod in self.pods() if pod.spec.node_name or uid_of(pod) in self.assumed]

    def others(self) -> list[Object]:
        """Return everything else."""
        return [thing for thing in self.objects.values() if not isinstance(thing, Node | Pod)]
