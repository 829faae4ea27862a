"""Kubernetes' own programs: taken from KUBEBUILDER_ASSETS where that is set, else built once into a cache.

A program is kept under a hash of the module files and flags that it is built from, outside the checkout.
Invariant: however many ask for a program at once, one builds it and the others wait.
Not here: running them (`control_plane.py`), and finding a Go compiler (`tests/parity/oracle_build.py`).
"""

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.parity.oracle_build import LDFLAGS, cache_directory, go_compiler

HERE = Path(__file__).parent
KUBERNETES = ("kubectl", "kube-apiserver", "kube-scheduler", "kube-controller-manager")
PROGRAMS = ("etcd", *KUBERNETES)


class NoProgram(Exception):
    """A program of the control plane is neither in KUBEBUILDER_ASSETS nor could it be built."""


def program(name: str) -> Path:
    """Return the path of a program, building it when these modules were not built before."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets:
        given = Path(assets) / name
        if not given.exists():
            raise NoProgram(f"KUBEBUILDER_ASSETS is set to {assets}, where no {name} is; unset it to build one")
        return given
    source = HERE / ("etcd" if name == "etcd" else "kubernetes")
    built = cache_directory().parent / "control-plane" / f"{_digest(source)}-{name}"
    if not built.exists():
        with _one_at_a_time(built.parent):
            if not built.exists():
                print(f"building {name} (minutes with an empty Go build cache): {built}", file=sys.stderr, flush=True)
                _build(name, source, built)
    return built


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _digest(source: Path) -> str:
    content = hashlib.sha256(LDFLAGS.encode())
    for path in sorted(source.iterdir()):
        content.update(f"\0{path.name}\0".encode())
        content.update(path.read_bytes())
    return content.hexdigest()[:16]


def _build(name: str, source: Path, built: Path) -> None:
    """Compile a program; a build that is cut short leaves nothing there."""
    package = "." if name == "etcd" else f"k8s.io/kubernetes/cmd/{name}"
    with tempfile.TemporaryDirectory(dir=built.parent) as scratch:
        made = Path(scratch) / name
        flags = ["-buildvcs=false", "-p", "1", "-ldflags", f"-s -w {LDFLAGS}"]
        done = subprocess.run([go_compiler(), "build", *flags, "-o", str(made), package], cwd=source, check=False)
        if done.returncode != 0:
            raise NoProgram(f"{name} could not be built in {source}: see above, or set KUBEBUILDER_ASSETS")
        made.replace(built)


if __name__ == "__main__":
    for each in PROGRAMS:
        print(program(each))
