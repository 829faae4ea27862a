"""Lists: selectors, pages and revisions."""

import pytest

from bayplan.playground.running import Running
from tests.unit.playground.asking import PODS, TABLE, Client, labelled, pod

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def three(client: Client) -> Client:
    """Store three objects with labels."""
    client.make(MAPS, labelled("a", app="x", tier="1"))
    client.make(MAPS, labelled("b", app="y"))
    client.make(MAPS, labelled("c", app="x"))
    return client


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("app=x", "a c"),
        ("app==y", "b"),
        ("app!=x", "b"),
        ("app in (x, y),tier", "a"),
        ("app notin (x)", "b"),
        ("!tier", "b c"),
        ("tier>0", "a"),
        ("nothing", ""),
        ("", "a b c"),
    ],
)
def test_a_label_selector_chooses(three: Client, selector: str, names: str) -> None:
    """Each form of a label selector is understood."""
    query = selector.replace(" ", "%20").replace("=", "%3D").replace(">", "%3E").replace("!", "%21")

    assert three.get(f"{MAPS}?labelSelector={query}").names == names.split()


def test_selectors_that_cannot_be_read_are_refused(client: Client) -> None:
    """A selector is a request's to get right."""
    for query in ("labelSelector=a%3D%3D%3Db", "labelSelector=(", "fieldSelector=spec.x%3D1", "limit=x"):
        assert client.get(f"{PODS}?{query}").reason == "BadRequest"


def test_a_field_selector_chooses_pods(client: Client) -> None:
    """Pods are found by their node and their phase."""
    client.make(PODS, pod("here", nodeName="n"))
    client.make(PODS, pod("nowhere"))

    assert client.get("/api/v1/pods?fieldSelector=spec.nodeName%3Dn").names == ["here"]
    assert client.get("/api/v1/pods?fieldSelector=spec.nodeName%21%3Dn,status.phase%3DPending").names == ["nowhere"]


def test_the_pages_of_a_list_are_of_one_revision(three: Client) -> None:
    """What is created and deleted between two pages does not show."""
    first = three.get(f"{MAPS}?limit=1")
    three.make(MAPS, labelled("aa"))
    three.ask("DELETE", f"{MAPS}/b")
    second = three.get(f"{MAPS}?limit=5&continue={first.body['metadata']['continue']}")

    assert (first.names, second.names) == (["a"], ["b", "c"])
    assert "continue" not in second.body["metadata"]
    assert first.body["metadata"]["resourceVersion"] == second.body["metadata"]["resourceVersion"]


def test_a_page_of_a_forgotten_revision_is_expired(three: Client, up: Running) -> None:
    """A list that cannot go on says so."""
    token = three.get(f"{MAPS}?limit=1").body["metadata"]["continue"]
    three.make(MAPS, labelled("d"))
    up.call(lambda server: server.store.forget())

    assert three.get(f"{MAPS}?limit=1&continue={token}").reason == "Expired"
    assert three.get(f"{MAPS}?limit=1&continue=nonsense").reason == "BadRequest"


def test_a_list_can_be_of_an_exact_revision(three: Client) -> None:
    """An exact revision is told as it was, one that is still to come is refused."""
    revision = three.get(MAPS).body["metadata"]["resourceVersion"]
    three.ask("DELETE", f"{MAPS}/a")
    exact = f"{MAPS}?resourceVersionMatch=Exact&resourceVersion="

    assert three.get(f"{exact}{revision}").names == ["a", "b", "c"]
    assert three.get(f"{MAPS}?resourceVersion={revision}").names == ["b", "c"]
    assert three.get(f"{exact}999999").code == 504


def test_a_table_has_the_columns_that_kubectl_prints(client: Client) -> None:
    """Pods are told as rows, with their metadata."""
    client.make(PODS, pod("a", nodeName="n"))
    table = client.get(PODS, TABLE).body
    shown = {
        column["name"]: cell for column, cell in zip(table["columnDefinitions"], table["rows"][0]["cells"], strict=True)
    }

    assert [column["name"] for column in table["columnDefinitions"] if column["priority"] == 0] == [
        *("Name", "Ready", "Status", "Restarts", "Age")
    ]
    assert (shown["Name"], shown["Ready"], shown["Status"], shown["Node"]) == ("a", "0/1", "Pending", "n")
    assert table["rows"][0]["object"]["metadata"]["name"] == "a"
