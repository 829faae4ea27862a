"""Turned down: why pods were not placed, counted by reason while they wait.

A scheduler tells each pod in a message why it waits; here messages are taken apart into the reasons they name.
Invariant: a pod counts once for each reason, however often it was told.
Not here: the reasons themselves (framework/reasons.py).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from bayplan.framework.reasons import FORMS, Kind

_AVAILABLE: Final = re.compile(r"0/\d+ nodes are available: (.*)\.", re.DOTALL)
_BETWEEN: Final = re.compile(r", (?=\d+ )")
_HELD: Final = re.compile("gated by (.*)")  # what the queue says of one that nobody tried
_COUNTED: Final = re.compile(r"\d+ (.*)", re.DOTALL)


class Reason(msgspec.Struct, frozen=True, rename="camel"):
    """Why pods were turned down."""

    kind: Kind
    subject: str  # what it is about: a resource, a driver
    text: str  # kube-scheduler's
    pods: int  # that were told so at least once
    still: int  # that waited for it at the end


class _Named(NamedTuple):
    kind: Kind
    subject: str = ""


class TurnedDown:
    """Who was turned down, and why."""

    def __init__(self) -> None:
        self._pods: Counter[str] = Counter()  # by text
        self._said: dict[int, set[str]] = {}  # by pod that waits: all it was told
        self._last: dict[int, tuple[str, ...]] = {}

    def tell(self, pod: int, message: str) -> None:
        """Note what a pod was told."""
        texts = self._last[pod] = texts_of(message)
        said = self._said.setdefault(pod, set())
        self._pods.update(text for text in texts if text not in said)
        said.update(texts)

    def placed(self, pod: int) -> None:
        """Note that a pod waits no more."""
        if self._said.pop(pod, None) is not None:
            del self._last[pod]

    def reasons(self, waiting: Iterable[tuple[int, str]]) -> tuple[Reason, ...]:
        """Return all reasons, the commonest first; who waits without having been told waits for what is said here."""
        still: Counter[str] = Counter()
        pods = self._pods.copy()
        for pod, why in waiting:
            still.update(self._last.get(pod, (why,)))
            pods.update(() if pod in self._last else (why,))
        return tuple(
            Reason(*named(text), text, pods[text], still[text])
            for text in sorted(pods, key=lambda text: (-pods[text], text))
        )


@lru_cache(maxsize=4096)
def texts_of(message: str) -> tuple[str, ...]:
    """Take apart why a pod was turned down.

    >>> texts_of("0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.")
    ('Insufficient cpu', 'node(s) were unschedulable')
    """
    whole = _AVAILABLE.fullmatch(message)
    if whole is None:
        return (message,)
    parts = [(part, _COUNTED.fullmatch(part)) for part in _BETWEEN.split(whole[1])]
    return tuple(dict.fromkeys(part if counted is None else counted[1] for part, counted in parts))


def named(text: str) -> _Named:
    """Return the kind of a text, and what it is about; what no rule of ours says is somebody's own rule's."""
    held = _HELD.fullmatch(text)
    if held is not None:
        return _Named(Kind.GATED, held[1])
    for form in FORMS:
        match = form.pattern.fullmatch(text)
        if match is not None:
            return _Named(form.kind, next((group for group in match.groups() if group), ""))
    return _Named(Kind.OWN_RULE)
