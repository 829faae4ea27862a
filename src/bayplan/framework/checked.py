"""Checked answers: what rules of somebody's own answer is looked at before anything is computed with it.

Our own rules are tested; theirs are run.  A class from outside has its methods wrapped when it is defined, so that
whoever asks it, plan or evaluation, gets an answer of the right shape or a Misanswer that says what was expected.
Invariant: an answer that passes can be computed with without looking at it again.
Not here: what becomes of a Misanswer (guard.py).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

Whole = npt.NDArray[np.int64]
Truth = npt.NDArray[np.bool_]

OURS: Final = "bayplan."
SCORE_MAX: Final = 100
TEXT_SHOWN_MAX: Final = 300
WHOLE: Final = "a whole number (int64)"
IN_RANGE: Final = f"{WHOLE} from 0 to {SCORE_MAX}"


class Misanswer(Exception):
    """Raised by whoever finds an answer wrong: what was expected and what came."""


class Sized(Protocol):
    """A view, as far as it matters here."""

    def __len__(self) -> int: ...


def check_methods(rule: type[object], *, normalizes: bool) -> None:
    """Have a class from outside checked: its own methods are replaced by ones that look at the answer."""
    if f"{rule.__module__}.".startswith(OURS):
        return
    for name, checker in _CHECKERS.items():
        method = rule.__dict__.get(name)
        if isinstance(method, FunctionType):
            setattr(rule, name, checker(method, normalizes))


def _scores(method: Callable[..., object], normalizes: bool) -> Callable[..., Whole]:  # noqa: FBT001 as in the table
    @functools.wraps(method)
    def score(self: object, state: object, view: Sized, feasible: Truth) -> Whole:
        found = method(self, state, view, feasible)
        column = whole_numbers(found, len(view), WHOLE if normalizes else IN_RANGE)
        return column if normalizes else in_range(column, feasible)

    return score


def _normalized(method: Callable[..., object], _: bool) -> Callable[..., Whole]:  # noqa: FBT001 as in the table
    @functools.wraps(method)
    def normalize(self: object, state: object, view: Sized, scores: Whole, feasible: Truth) -> Whole:
        return in_range(whole_numbers(method(self, state, view, scores, feasible), len(view), IN_RANGE), feasible)

    return normalize


def _fits(method: Callable[..., object], _: bool) -> Callable[..., Truth]:  # noqa: FBT001 as in the table
    @functools.wraps(method)
    def fits(self: object, state: object, view: Sized) -> Truth:
        return truths(method(self, state, view), len(view))

    return fits


def _ruling(method: Callable[..., object], _: bool) -> Callable[..., object]:  # noqa: FBT001 as in the table
    @functools.wraps(method)
    def filter_(self: object, state: object, view: Sized) -> object:
        found = method(self, state, view)
        codes, outcomes = getattr(found, "codes", None), getattr(found, "outcomes", None)
        if outcomes is None:
            raise Misanswer(f"expected a Ruling, got {described(found)}")
        known_codes(codes, len(view), len(outcomes))
        return found

    return filter_


_CHECKERS: Final[dict[str, Callable[[Callable[..., object], bool], Callable[..., object]]]] = {
    "score": _scores,
    "normalize": _normalized,
    "fits": _fits,
    "filter": _ruling,
}


# --- what an answer must be ------------------------------------------------------------------------------------------


def whole_numbers(found: object, rows: int, expected: str = WHOLE) -> Whole:
    """Return an answer that is one whole number a row, or raise Misanswer."""
    wanted = f"{expected} for each of {rows} nodes"
    column = _array(found, wanted)
    if column.dtype.kind not in "iu":
        raise Misanswer(
            f"expected {wanted}, got {described(found)}; "
            "bayplan.lower_is_better, bayplan.higher_is_better or .astype(np.int64) makes them whole"
        )
    if column.shape != (rows,):
        raise Misanswer(f"expected {wanted}, got {described(found)}")
    return column.astype(np.int64, copy=False)


def in_range(scores: Whole, feasible: Truth | None = None) -> Whole:
    """Return scores of which all that count are from 0 to 100, or raise Misanswer."""
    counted = scores if feasible is None else scores[feasible]
    wrong = counted[(counted < 0) | (counted > SCORE_MAX)]
    if len(wrong):
        raise Misanswer(
            f"expected scores from 0 to {SCORE_MAX}, got {wrong[0]}; "
            "bayplan.lower_is_better or bayplan.higher_is_better brings any numbers into this range"
        )
    return scores


def truths(found: object, rows: int) -> Truth:
    """Return an answer that is one truth value a row, or raise Misanswer."""
    wanted = f"True or False (bool) for each of {rows} nodes"
    column = _array(found, wanted)
    if column.dtype != np.bool_ or column.shape != (rows,):
        raise Misanswer(f"expected {wanted}, got {described(found)}")
    return column


def known_codes(found: object, rows: int, outcomes: int) -> None:
    """Raise Misanswer unless an answer is one code a row, each with an outcome."""
    codes = whole_numbers(found, rows, "an int16 code")
    if not len(codes):
        return
    least, most = int(codes.min()), int(codes.max())
    if least < 0 or (most and most >= outcomes):
        raise Misanswer(f"expected codes below {outcomes}, the number of outcomes, got {least if least < 0 else most}")


def _array(found: object, wanted: str) -> npt.NDArray[Any]:
    if not isinstance(found, np.ndarray):
        raise Misanswer(f"expected {wanted} as a NumPy array, got {described(found)}")
    return found


def described(value: object) -> str:
    """Say what a value is, without showing all of it."""
    if isinstance(value, np.ndarray):
        size = f"{len(value)} values" if value.ndim == 1 else f"an array of shape {value.shape}"
        return f"{size} of dtype {value.dtype}"
    if value is None:
        return "None"
    name = type(value).__name__
    if isinstance(value, int | float | str):
        return f"{name} {short(repr(value))}"
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def short(text: str) -> str:
    """Cut a text that is too long to be read."""
    return text if len(text) <= TEXT_SHOWN_MAX else text[: TEXT_SHOWN_MAX - 3] + "..."
