"""Catalogues: an entry keeps its number, and versions say when there is a new one."""

from bayplan.cluster.catalogues import Catalogue, Images


def test_an_entry_keeps_its_number() -> None:
    """Asked for again it is not new."""
    catalogue = Catalogue("none")
    version = catalogue.version

    assert [catalogue.number(entry) for entry in ("a", "b", "a", "none")] == [1, 2, 1, 0]
    assert catalogue.version == version + 2
    assert list(catalogue) == ["none", "a", "b"]


def test_an_image_is_known_while_a_node_reports_it() -> None:
    """Its size is the earliest-arrived reporter's, not the lowest row's."""
    images = Images()
    images.put(row=0, arrival=9, sizes={"app": 100})
    images.put(row=5, arrival=3, sizes={"app": 700})
    assert images.size("app") == 700

    images.drop(5, {"app": 700})
    assert images.size("app") == 100

    images.drop(0, {"app": 100})
    assert images.rows("app") == []
