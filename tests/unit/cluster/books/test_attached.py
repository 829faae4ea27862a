"""Attachments by node and by volume."""

from bayplan.cluster.books.attached import Attached
from tests.storage import attachment


def test_an_attachment_is_found_by_its_node_and_its_volume() -> None:
    """It moves with a change, and goes when it is dropped."""
    book = Attached()
    assert book.put(attachment("va", to="n", of="pv")) == ("n",)
    assert book.put(attachment("inline", to="n", of=None)) == ("n",)
    assert len(list(book.to("n"))) == 2
    assert book.nodes_of("pv") == ("n",)

    assert book.put(attachment("va", to="m", of="pv")) == ("n", "m")
    assert [one.metadata.name for one in book.to("n")] == ["inline"]
    assert book.nodes_of("pv") == ("m",)

    assert book.drop("va") == ("m",)
    assert book.drop("va") == ()
    assert book.nodes_of("pv") == ()
    assert len(book) == 1
