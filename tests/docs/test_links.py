"""Every link from one of our documents to another file of ours leads somewhere."""

import re
from pathlib import Path

import pytest

from tests.architecture.files import ROOT, name_of, project_files

DOCUMENTS = project_files("*.md")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)


def anchors(path: Path) -> set[str]:
    """Return the anchors that a document's headings make."""
    headings = HEADING.findall(FENCED.sub("", path.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def leads_somewhere(document: Path, link: str) -> bool:
    """Tell whether a link, seen from its document, names a file and a heading that exist."""
    name, _, anchor = link.partition("#")
    target = document.parent / name if name else document
    return target.exists() and (not anchor or anchor in anchors(target))


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(document: Path) -> None:
    """A link within the project names a file that exists, and a heading in it."""
    links = LINK.findall(FENCED.sub("", document.read_text(encoding="utf-8")))
    own = [link for link in links if "://" not in link and not link.startswith("mailto:")]

    assert [link for link in own if not leads_somewhere(document, link)] == []


def test_every_page_can_be_found() -> None:
    """A page under docs is listed on the first one."""
    pages = {name_of(path).removeprefix("docs/") for path in project_files("docs/*.md") if path.parent.name == "docs"}
    listed = set(LINK.findall((ROOT / "docs" / "README.md").read_text(encoding="utf-8")))

    assert pages - {"README.md"} - listed == set()
