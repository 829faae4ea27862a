"""Matching: which volumes a pod's claims would take on a node, and which would have to be made there.

Claims without a volume are matched smallest first, each with the smallest free volume that suits it and that the node
reaches, or with one that is kept for it; what finds none must be provided for.
Invariant: no volume is given to two claims of a pod; what is read is only the node's labels and name, and the wants.
Not here: claims that have a volume (VolumeBinding looks at those) and writing the outcome (`books/volumes.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from bayplan.api.claims import StorageClass
from bayplan.api.objects import LabelSelector, Requirement
from bayplan.api.quantity import ceil_whole
from bayplan.api.selectors import Selector, SelectorError
from bayplan.cluster.books.stock import Free, Pool, Pools, Stock
from bayplan.cluster.claims import Claim, Wish

NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"


class Source(NamedTuple):
    """Where the volumes of a class come from."""

    stock: Stock
    kept: tuple[tuple[str, Free], ...]  # volumes that are kept for the one claim
    pools: Pools | None  # None: room is not looked at

    @property
    def parts(self) -> tuple[Stock] | tuple[Stock, Pools]:
        """What may change while the source is the same."""
        return (self.stock,) if self.pools is None else (self.stock, self.pools)


class Want(NamedTuple):
    """A claim without a volume, and where one may come from."""

    claim: Claim
    wish: Wish
    source: Source
    is_made: bool  # the class makes volumes
    made_where: tuple[Selector, ...] | None  # None: anywhere


class Given(NamedTuple):
    """A claim and the volume that it would take."""

    want: Want
    volume: str
    free: Free


class Made(NamedTuple):
    """A claim for which a volume would be made, and the pool that has room for it (None: nobody asked)."""

    want: Want
    pool: Pool | None


class Match(NamedTuple):
    """What a node has for the claims; where one of the first two fails, nothing is given or made."""

    has_volumes: bool = True
    has_room: bool = True
    given: tuple[Given, ...] = ()
    made: tuple[Made, ...] = ()


NO_VOLUMES = Match(has_volumes=False)
NO_ROOM = Match(has_room=False)


def want_of(claim: Claim, wish: Wish, storage_class: StorageClass, source: Source) -> Want:
    """Put together what a search for a claim needs."""
    is_made = storage_class.provisioner not in {"", NO_PROVISIONER}
    return Want(claim, wish, source, is_made, _places_of(storage_class))


def wrong_selector(wants: Iterable[Want]) -> str | None:
    """Return kube-scheduler's text for the first claim whose selector cannot be read, if it is asked at all."""
    return next(
        (
            f"error creating internal label selector for claim: {want.claim.key}: {want.wish.selector_error}"
            for want in by_size(wants)
            if want.wish.selector_error and want.wish.selected_node is None
        ),
        None,
    )


def by_size(wants: Iterable[Want]) -> list[Want]:
    """Sort claims by what they ask for, smallest first."""
    return sorted(wants, key=lambda want: want.wish.storage or 0)


def is_elsewhere(wants: Iterable[Want], node: str) -> bool:
    """Say whether one of the volumes is being made on another node."""
    return any(want.wish.selected_node not in {None, node} for want in wants)


def match(wants: Sequence[Want], node: str, labels: Mapping[str, str]) -> Match:
    """Find volumes for claims on a node."""
    return NO_VOLUMES if is_elsewhere(wants, node) else match_here(wants, labels)


def match_here(wants: Sequence[Want], labels: Mapping[str, str]) -> Match:
    """Find volumes for claims on a node with these labels, none being made elsewhere."""
    to_make = [want for want in wants if want.wish.selected_node is not None]
    given: list[Given] = []
    chosen: set[str] = set()
    for want in by_size(want for want in wants if want.wish.selected_node is None):
        found = _volume_for(want, labels, chosen)
        if found is None:
            to_make.append(want)
        else:
            chosen.add(found.volume)
            given.append(found)
    made = []
    for want in to_make:
        if not want.is_made or not _can_be_made(want, labels):
            return NO_VOLUMES
        pool = _pool_for(want, labels)
        if pool is None and _asks_for_room(want):
            return NO_ROOM
        made.append(Made(want, pool))
    return Match(given=tuple(given), made=tuple(made))


def parts_of(wants: Iterable[Want]) -> list[Stock | Pools]:
    """Return all from which something may be taken, each once."""
    return list(dict.fromkeys(part for want in wants for part in want.source.parts))


def changes_of(parts: Iterable[Stock | Pools]) -> int:
    """Return a number that rises whenever `match` may answer differently for some labels."""
    return sum([part.near.changes for part in parts])


def keys_of(wants: Iterable[Want]) -> set[str]:
    """Return the label keys that `match` looks at."""
    keys = {key for part in parts_of(wants) for key in part.near.keys}
    for want in wants:
        keys.update(key for _, free in want.source.kept for key in free.keys)
        keys.update(clause.key for where in want.made_where or () for clause in where.clauses)
    return keys


def _volume_for(want: Want, labels: Mapping[str, str], chosen: set[str]) -> Given | None:
    wish = want.wish
    for name, kept in want.source.kept:
        if name not in chosen and kept.storage >= (wish.storage or 0) and _alike(wish, kept):
            return Given(want, name, kept) if _reached(kept, labels) else None
    for name, free in want.source.stock.of(labels, wish.storage or 0):
        if (
            name not in chosen
            and _alike(wish, free)
            and free.access_modes.issuperset(wish.access_modes)
            and (wish.selector is None or wish.selector.matches(free.volume.metadata.labels))
            and _reached(free, labels)
        ):
            return Given(want, name, free)
    return None


def _alike(wish: Wish, free: Free) -> bool:
    return free.mode == wish.mode and free.attributes_class == wish.attributes_class


def _reached(free: Free, labels: Mapping[str, str]) -> bool:
    return free.reach is None or free.reach.matches(labels)


def _can_be_made(want: Want, labels: Mapping[str, str]) -> bool:
    return want.made_where is None or any(where.matches(labels) for where in want.made_where)


def _asks_for_room(want: Want) -> bool:
    return want.source.pools is not None and want.wish.storage is not None


def _pool_for(want: Want, labels: Mapping[str, str]) -> Pool | None:
    """Return a pool with room, or None where there is none or nobody asks for one."""
    if want.source.pools is None or want.wish.storage is None:
        return None
    needed = ceil_whole(want.wish.storage)
    return next(
        (
            pool
            for pool in want.source.pools.of(labels)
            if pool.limit is not None and pool.limit >= needed and pool.reach.matches(labels)
        ),
        None,
    )


def _places_of(storage_class: StorageClass) -> tuple[Selector, ...] | None:
    """Read where a class's volumes can be made; a term that is empty or cannot be read is nowhere."""
    if not storage_class.allowed_topologies:
        return None
    found = []
    for term in storage_class.allowed_topologies:
        lines = tuple(
            Requirement(key=line.key, operator="In", values=line.values) for line in term.match_label_expressions
        )
        if lines:
            try:
                found.append(Selector.of(LabelSelector(match_expressions=lines)))
            except SelectorError:
                continue
    return tuple(found)
