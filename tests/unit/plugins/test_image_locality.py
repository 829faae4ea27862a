"""ImageLocality: nodes that hold a pod's images are better, in proportion to how many others hold them."""

import pytest
from msgspec.structs import replace

from bayplan.api.objects import ContainerImage
from bayplan.plugins.image_locality import ImageLocality
from tests.kit import a_cluster, a_pod, case, node, scored

MIB = 1 << 20


def sizes(text: str) -> dict[str, int]:
    """Return images called by their size in MiB."""
    return {f"{name}:1": int(name) * MIB for name in text.split()}


@pytest.mark.parametrize(
    ("images", "on_nodes", "scores"),
    [
        case("an image of a good size on one of two nodes", "40 250", ["40 140 2000", "10 250"], [0, 5]),
        case("two together", "40 300", ["40 140 300 2000", "10 250"], [7, 0]),
        case("more than is worth counting", "10 4000", ["400", "4000", "100"], [0, 66, 0]),
        case("small images are worth nothing", "10", ["10", "20"], [0, 0]),
        case("an image that all have is worth its whole size", "500", ["500", "500"], [48, 48]),
        case("an image that nobody has", "9", ["1", "2"], [0, 0]),
    ],
)
def test_score(images: str, on_nodes: list[str], scores: list[int]) -> None:
    """Upstream's own figures, and the ends of its scale."""
    cluster = a_cluster(*(node(f"n{place}", images=sizes(text)) for place, text in enumerate(on_nodes)))
    found = scored(ImageLocality(), a_pod(images=" ".join(sizes(images))), cluster)

    assert found is not None
    assert list(found.normal.values()) == scores


def test_an_images_size_is_the_earliest_nodes() -> None:
    """When that node goes the next one's counts, though it comes back; a row used again changes nothing."""
    table = a_cluster(*(node(name, images={"app": size * MIB}) for name, size in (("a", 100), ("b", 500), ("c", 900))))
    assert table.images.size("app") == 100 * MIB

    table.drop_node("a")
    assert table.images.size("app") == 500 * MIB

    table.put_node(node("a", images={"app": 100 * MIB}))
    assert table.images.size("app") == 500 * MIB


def test_of_two_entries_of_one_name_the_first_counts() -> None:
    """A node may report an image twice."""
    images = tuple(ContainerImage(names=("app",), size_bytes=size) for size in (100, 900))
    table = a_cluster(replace(node("a"), status=replace(node("a").status, images=images)))

    assert table.images.size("app") == 100
