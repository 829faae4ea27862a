"""Cases: one cluster, one pending pod, and what kube-scheduler made of them; read from and written to lines of JSON.

Not here: what a case means.  The form is described in docs/parity.md; compare.py compares two results.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

Manifest: TypeAlias = dict[str, Any]
"""A piece of Kubernetes JSON; its schema is Kubernetes', not ours."""

Case: TypeAlias = dict[str, Any]
"""{"id", "family", "objects", "pod", "config"?, "featureGates"?, "orderSensitive"?, "result"?}."""

Result: TypeAlias = dict[str, Any]
"""What one attempt concluded, in the form of a case's "result"."""

CASES = Path(__file__).parent / "cases"


def read_cases(path: Path) -> Iterator[Case]:
    """Yield the cases of a `.jsonl` or `.jsonl.gz` file."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def write_case(case: Case, path: Path) -> None:
    """Write one case as a `.jsonl` file of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(to_line(case) + "\n", encoding="utf-8")


def to_line(case: Case) -> str:
    """Return the case as one line of JSON."""
    return json.dumps(case, sort_keys=True, separators=(",", ":"))
