"""The project's own files, as git knows them.

Invariant: what git ignores is never looked at, so that a checkout full of caches is judged as a fresh clone is.
Not here: what is claimed of the files (the tests beside this module).
"""

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@cache
def project_files(*patterns: str) -> tuple[Path, ...]:
    """Return the files that are, or would be, in a commit and match one of git's patterns."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = sorted({ROOT / name for name in listed.split("\0") if name})
    return tuple(path for path in paths if path.is_file())


def name_of(path: Path) -> str:
    """Return a file's name as it is seen from the project's root."""
    return path.relative_to(ROOT).as_posix()
