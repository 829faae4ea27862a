"""Asking: a case put to bayplan and compared, a crash being a difference like any other."""

from tests.parity.case import Case
from tests.parity.compare import differences
from tests.parity.ours import evaluate

CRASHED = "raised"
"""How a difference begins that is no answer at all."""


def unlike(case: Case) -> list[str]:
    """Return what differs between the case's result and bayplan's answer, or that there was no answer."""
    try:
        got = evaluate(case)
    except Exception as error:  # noqa: BLE001 - whatever is raised, the other cases are still compared
        return [f"{CRASHED} {type(error).__name__}: {error}"]
    return differences(case, got)
