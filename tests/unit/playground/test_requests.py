"""Patches over HTTP: each type, and what it does to lists."""

import pytest

from tests.unit.playground.asking import JSON_PATCH, MERGE, PODS, STRATEGIC, Body, Client, pod

A = f"{PODS}/a"


@pytest.fixture
def one(client: Client) -> Client:
    """Store a pod."""
    client.make(PODS, pod(tolerations=[{"key": "k", "operator": "Exists"}]))
    return client


def labels(done: Body) -> object:
    """Give an object's labels."""
    return done["metadata"].get("labels")


def test_a_merge_patch_merges_maps_and_null_deletes(one: Client) -> None:
    """RFC 7386."""
    assert labels(one.patch(A, {"metadata": {"labels": {"x": "1", "y": "2"}}}).body) == {"x": "1", "y": "2"}
    assert labels(one.patch(A, {"metadata": {"labels": {"x": None}}}).body) == {"y": "2"}


def test_a_json_patch_is_done_whole_or_not_at_all(one: Client) -> None:
    """RFC 6902: a test that fails refuses all operations."""
    add = {"op": "add", "path": "/metadata/labels", "value": {"a/b": "1"}}
    wrong = {"op": "test", "path": "/metadata/name", "value": "z"}
    assert one.patch(A, [add, wrong], JSON_PATCH).code == 422
    assert labels(one.get(A).body) is None

    more = [
        add,
        {"op": "copy", "from": "/metadata/labels/a~1b", "path": "/metadata/labels/c"},
        {"op": "move", "from": "/metadata/labels/a~1b", "path": "/metadata/labels/d"},
        {"op": "replace", "path": "/metadata/labels/c", "value": "2"},
        {"op": "add", "path": "/spec/tolerations/0", "value": {"key": "first"}},
    ]
    done = one.patch(A, more, JSON_PATCH).body
    assert labels(done) == {"c": "2", "d": "1"}
    assert done["spec"]["tolerations"][0] == {"key": "first"}


def test_a_strategic_merge_patch_merges_lists_by_key(one: Client) -> None:
    """Conditions are a set by type, containers by name; an item that is new comes first."""
    for kind, value in (("A", "True"), ("B", "True"), ("A", "False")):
        patch = {"status": {"conditions": [{"type": kind, "status": value}]}}
        done = one.patch(f"{A}/status", patch, STRATEGIC).body
    assert done["status"]["conditions"] == [{"type": "B", "status": "True"}, {"type": "A", "status": "False"}]

    gone = {"status": {"conditions": [{"type": "A", "$patch": "delete"}]}}
    assert one.patch(f"{A}/status", gone, STRATEGIC).body["status"]["conditions"] == [{"type": "B", "status": "True"}]
    image = {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}
    assert one.patch(A, image, STRATEGIC).body["spec"]["containers"][0]["image"] == "i:2"


def test_server_side_apply_is_refused_with_its_reason(one: Client) -> None:
    """Clients learn which patches are served."""
    refused = one.patch(A, {"metadata": {"labels": {"a": "b"}}}, "application/apply-patch+yaml")

    assert (refused.code, refused.reason) == (415, "UnsupportedMediaType")
    assert "server-side apply is not served" in refused.body["message"]
    assert MERGE in refused.body["message"]


def test_a_patch_of_an_old_version_is_a_conflict(one: Client) -> None:
    """A patch may say which version it is for."""
    assert one.patch(A, {"metadata": {"resourceVersion": "1", "labels": {"a": "b"}}}).reason == "Conflict"


def test_patches_that_are_none_are_refused(one: Client) -> None:
    """A patch has a shape of its own."""
    for body, media in (([], MERGE), ({}, JSON_PATCH), ([{"op": "jump", "path": "/a"}], JSON_PATCH), ("x", STRATEGIC)):
        assert one.patch(A, body, media).code == 400
    assert one.patch(A, [{"op": "remove", "path": "/no/such"}], JSON_PATCH).code == 422


def test_a_bound_pod_keeps_its_node_and_its_wishes(client: Client) -> None:
    """The spec of a pod is immutable but for a few fields."""
    client.make(PODS, pod(nodeName="n"))

    assert client.patch(A, {"spec": {"nodeName": "other"}}).reason == "Invalid"
    assert client.patch(A, {"spec": {"schedulerName": "other"}}).reason == "Invalid"
    assert client.patch(A, {"spec": {"activeDeadlineSeconds": 5}}).code == 200
