"""What must not be in any file of the project, whatever its kind."""

import re

from tests.architecture.files import ROOT, name_of, project_files

HOMES = ("home", "root", "work", "mnt", "Users")
MACHINE_PATH = re.compile(rf"(?<![\w.~$}}-])/(?:{'|'.join(HOMES)})/")
PIN = re.compile(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!-]+(?: ; .+)?")


def test_no_file_names_a_place_on_some_machine() -> None:
    """A path that begins at a machine's root means nothing to the next reader."""
    found = []
    for path in project_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [
            f"{name_of(path)}:{number}" for number, line in enumerate(text.splitlines(), 1) if MACHINE_PATH.search(line)
        ]

    assert not found


def test_the_lock_file_pins_versions_and_names_no_host() -> None:
    """Each line is a name and an exact version: where packages come from is the installer's affair."""
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()

    assert not [line for line in lines if not line.startswith("#") and not PIN.fullmatch(line)]
