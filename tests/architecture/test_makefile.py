"""The one door: what the documents tell a reader to ask of make can be asked, and is listed."""

import re
import subprocess

import pytest

from tests.architecture.files import ROOT

DOCUMENTS = ("README.md", "CONTRIBUTING.md")
ASKED = re.compile(r"(?:`|^\s*)make ([a-z][a-z-]*)", re.MULTILINE)


def listed() -> dict[str, str]:
    """Return the targets that plain make lists, each with its line of help."""
    shown = subprocess.run(["make", "--no-print-directory"], cwd=ROOT, check=True, capture_output=True, text=True)
    return dict(re.findall(r"^\s*make (\S+)\s+(\S.*)$", shown.stdout, re.MULTILINE))


def asked(document: str) -> set[str]:
    """Return the targets that a document names."""
    return set(ASKED.findall((ROOT / document).read_text(encoding="utf-8")))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_a_document_asks_of_make_is_listed(document: str) -> None:
    """A reader who types what the document says finds a target with a help line."""
    assert asked(document) - set(listed()) == set()


def test_every_target_is_explained_to_contributors() -> None:
    """A target that CONTRIBUTING.md does not mention is found by nobody."""
    assert set(listed()) - asked("CONTRIBUTING.md") == set()
