"""The server: discovery, bad input, strangers, and faults on command."""

from http.client import RemoteDisconnected

import pytest

from tests.unit.playground.asking import PODS, Client, labelled, pod, seen

MAPS = "/api/v1/namespaces/default/configmaps"
FAULTS = "/bayplan/faults"


def test_it_says_that_it_is_well(client: Client) -> None:
    """The health paths and the version answer."""
    assert [client.get(path).body["text"] for path in ("/healthz", "/livez", "/readyz")] == ["ok"] * 3
    assert client.get("/version").body["minor"] == "37"


def test_plain_and_aggregated_discovery_tell_the_same(client: Client) -> None:
    """Each resource of one is in the other."""
    told = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    together = {
        (group["metadata"]["name"], version["version"], resource["resource"])
        for group in client.get("/apis", told).body["items"]
        for version in group["versions"]
        for resource in version["resources"]
    }
    plain = {
        (group["name"], version["version"], resource["name"])
        for group in client.get("/apis").body["groups"]
        for version in group["versions"]
        for resource in client.get(f"/apis/{version['groupVersion']}").body["resources"]
        if "/" not in resource["name"]
    }

    assert together == plain
    assert ("apps", "v1", "deployments") in plain
    names = {resource["name"] for resource in client.get("/api/v1").body["resources"]}
    assert {"pods", "pods/binding", "pods/eviction", "pods/status", "nodes", "events"} <= names


def test_openapi_leads_to_a_document_for_each_group(client: Client) -> None:
    """Kubectl finds there that fields can be validated by the server."""
    paths = client.get("/openapi/v3").body["paths"]
    document = client.get(paths["apis/apps/v1"]["serverRelativeURL"]).body
    post = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments"]["post"]

    assert post["x-kubernetes-group-version-kind"]["kind"] == "Deployment"
    assert "fieldValidation" in [parameter["name"] for parameter in post["parameters"]]


def test_yaml_is_read(client: Client) -> None:
    """A body may be YAML, where its content type says so."""
    done = client.ask("POST", MAPS, b"metadata: {name: a}\ndata: {at: 12:30}\n", media="application/yaml")

    assert done.body["data"] == {"at": "12:30"}


@pytest.mark.parametrize(
    ("body", "media", "code"),
    [
        (b"{", "application/json", 400),
        (b"", "application/json", 400),
        (b"[1]", "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        (b'{"a":' * 5000, "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b"a: [", "application/yaml", 400),
        (b"k8s\0", "application/vnd.kubernetes.protobuf", 415),
        (b"k8s\0\xff", "application/vnd.kubernetes.protobuf", 400),
        (b"json", "application/vnd.kubernetes.protobuf", 400),
        (b"x", "image/png", 415),
        (b" " * (3 * 2**20 + 1), "application/json", 413),
    ],
)
def test_bodies_that_cannot_be_read_get_a_status(client: Client, body: bytes, media: str, code: int) -> None:
    """No bytes bring forth a traceback."""
    refused = client.ask("POST", MAPS, body, media=media)

    assert (refused.code, refused.body["kind"]) == (code, "Status")


def test_what_is_not_served_is_a_status(client: Client) -> None:
    """Paths, methods and media types that make no sense are refused as such."""
    for path in ("/", "/api", "/apis/x", "/api/v1/namespaces/default/pods/a/b/c/d", "/%2e%2e/%00", "/api/v1/nodes/%ff"):
        assert client.ask("PUT", path, {}).code in {400, 404, 405}
    assert client.ask("PATCH", MAPS, {}).reason == "MethodNotAllowed"
    assert client.ask("POST", f"{PODS}/a", pod()).reason == "MethodNotAllowed"
    assert client.get(PODS, "image/png").code == 406


def test_a_page_of_another_origin_is_turned_away(client: Client) -> None:
    """A browser says where a page came from, and under which name it found us."""
    own = f"127.0.0.1:{client.port}"
    for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}, {"Origin": "null"}):
        assert client.send("GET", MAPS, None, headers).code == 403

    assert client.send("GET", MAPS, None, {"Host": own, "Origin": f"http://{own}"}).code == 200


def test_a_fault_meets_the_requests_that_it_is_for(client: Client) -> None:
    """A refusal on command is given so many times, to that verb on that resource."""
    client.ask(
        "POST", FAULTS, {"action": "answer", "code": 503, "verb": "create", "resource": "configmaps", "times": 2}
    )

    assert client.get(MAPS).code == 200
    assert [client.ask("POST", MAPS, labelled("a")).code for _ in range(3)] == [503, 503, 201]


def test_a_request_can_be_done_and_not_answered(client: Client) -> None:
    """What is lost on the way back has happened, what is dropped has not."""
    for action, is_there in (("lose", 200), ("drop", 404)):
        client.ask("POST", FAULTS, {"action": action, "verb": "create"})
        with pytest.raises((RemoteDisconnected, ConnectionError)):
            client.ask("POST", MAPS, labelled(action))

        assert client.get(f"{MAPS}/{action}").code == is_there


def test_watches_are_cut_and_history_expires_on_command(client: Client) -> None:
    """Clients that resume after that must list again."""
    client.make(MAPS, labelled("a"))
    with client.watch(f"{MAPS}?watch=1") as events:
        assert seen(next(events)) == ("ADDED", "a")
        client.ask("POST", FAULTS, {"action": "cut"})
        with pytest.raises((OSError, ValueError, StopIteration)):
            next(events)

    client.ask("POST", FAULTS, {"action": "expire"})
    with client.watch(f"{MAPS}?watch=1&resourceVersion=1") as events:
        assert next(events)["object"]["code"] == 410


def test_a_fault_that_is_none_is_refused(client: Client) -> None:
    """What can go wrong is a closed set."""
    bodies: list[object] = [
        {"action": "explode"},
        {"action": "answer", "code": 200},
        {"action": "delay", "seconds": -1},
        [],
    ]
    for body in bodies:
        assert client.ask("POST", FAULTS, body).code == 400


def test_reviews_are_answered_and_not_stored(client: Client) -> None:
    """Everybody may do anything here."""
    review = client.make("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {}})

    assert review["status"]["allowed"] is True
    assert client.get("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews").code == 405
