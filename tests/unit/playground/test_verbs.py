"""The verbs over HTTP: what is stored, what it is called, who is refused."""

import pytest

from tests.unit.playground.asking import PODS, Client, labelled, pod

MAPS = "/api/v1/namespaces/default/configmaps"


def test_an_object_comes_back_with_what_the_server_knows_of_it(client: Client) -> None:
    """A created object has a uid, a time and a version, and its fields are kept, unknown ones too."""
    made = client.make(MAPS, {**labelled("a"), "data": {"k": "v"}, "unheardOf": {"deep": [1, 2.5, None, "ä"]}})
    meta = made["metadata"]

    assert (made["kind"], made["apiVersion"], meta["namespace"]) == ("ConfigMap", "v1", "default")
    assert meta["uid"]
    assert meta["creationTimestamp"].endswith("Z")
    assert made["unheardOf"] == {"deep": [1, 2.5, None, "ä"]}
    assert client.get(f"{MAPS}/a").body == made


def test_a_generated_name_begins_as_asked_and_is_new_each_time(client: Client) -> None:
    """GenerateName gives each object a name of its own."""
    names = {client.make(MAPS, {"metadata": {"generateName": "x-"}})["metadata"]["name"] for _ in range(5)}

    assert len(names) == 5
    assert all(name.startswith("x-") and len(name) == 7 for name in names)


def test_a_taken_name_is_refused(client: Client) -> None:
    """A second object of the same name is AlreadyExists."""
    client.make(MAPS, labelled("a"))
    refused = client.ask("POST", MAPS, labelled("a"))

    assert (refused.code, refused.reason) == (409, "AlreadyExists")
    assert refused.body["message"] == 'configmaps "a" already exists'
    assert refused.body["details"] == {"name": "a", "kind": "configmaps"}


@pytest.mark.parametrize(
    ("body", "code", "reason"),
    [
        ({}, 422, "Invalid"),
        ({"metadata": {"name": "Not-A-Name"}}, 422, "Invalid"),
        ({"metadata": {"name": "a", "namespace": "other"}}, 400, "BadRequest"),
        ({"kind": "Secret", "metadata": {"name": "a"}}, 400, "BadRequest"),
        ({"apiVersion": "v2", "metadata": {"name": "a"}}, 400, "BadRequest"),
        ({"metadata": {"name": "a", "resourceVersion": "7"}}, 400, "BadRequest"),
        ({"metadata": "a"}, 400, "BadRequest"),
    ],
)
def test_what_cannot_be_an_object_is_refused(client: Client, body: object, code: int, reason: str) -> None:
    """Names, namespaces, kinds and versions must make sense."""
    refused = client.ask("POST", MAPS, body)

    assert (refused.code, refused.reason) == (code, reason)
    assert refused.body["kind"] == "Status"


def test_what_is_not_there_is_not_found(client: Client) -> None:
    """An object, a namespace and a resource that are absent are each NotFound."""
    assert client.get(f"{PODS}/x").body["message"] == 'pods "x" not found'
    assert client.ask("POST", "/api/v1/namespaces/no/configmaps", labelled("a")).body["details"]["kind"] == "namespaces"
    assert client.get("/apis/apps/v1/things").reason == "NotFound"
    assert client.get("/apis/no.such/v1/things").code == 404
    assert client.ask("DELETE", f"{MAPS}/x").code == 404


def test_of_two_writers_who_read_the_same_the_second_is_refused(client: Client) -> None:
    """An update of an old version is a Conflict, one without a version is not."""
    made = client.make(MAPS, labelled("a"))
    first = client.ask("PUT", f"{MAPS}/a", {**made, "data": {"by": "first"}})
    second = client.ask("PUT", f"{MAPS}/a", {**made, "data": {"by": "second"}})
    third = client.ask("PUT", f"{MAPS}/a", {**labelled("a"), "data": {"by": "third"}})

    assert (first.code, second.code, second.reason, third.code) == (200, 409, "Conflict", 200)
    assert "the object has been modified" in second.body["message"]


def test_an_update_that_changes_nothing_is_no_change(client: Client) -> None:
    """The version stays when the object does."""
    made = client.make(MAPS, labelled("a"))

    assert client.ask("PUT", f"{MAPS}/a", made).body == made


def test_the_status_is_written_by_its_own_subresource(client: Client) -> None:
    """An update of the object leaves its status, an update of the status its spec."""
    made = client.make(PODS, pod())
    client.ask("PUT", f"{PODS}/a", {**made, "status": {"phase": "Failed"}})
    assert client.get(f"{PODS}/a").body["status"]["phase"] == "Pending"

    told = {**made, "spec": {}, "status": {"phase": "Running"}}
    done = client.ask("PUT", f"{PODS}/a/status", told).body

    assert done["status"] == {"phase": "Running"}
    assert done["spec"] == made["spec"]


def test_a_generation_counts_changes_of_the_spec_alone(client: Client) -> None:
    """Labels and status do not count."""
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    made = client.make(path, {"metadata": {"name": "g"}, "spec": {"minAvailable": 2}})
    labels = client.patch(f"{path}/g", {"metadata": {"labels": {"a": "b"}}}).body
    status = client.patch(f"{path}/g/status", {"status": {"x": 1}}).body
    spec = client.patch(f"{path}/g", {"spec": {"minAvailable": 3}}).body

    assert [one["metadata"]["generation"] for one in (made, labels, status, spec)] == [1, 1, 1, 2]


def test_dry_run_stores_nothing(client: Client) -> None:
    """What would be stored is answered, and is not there afterwards."""
    assert client.ask("POST", f"{MAPS}?dryRun=All", labelled("a")).code == 201
    assert client.get(f"{MAPS}/a").code == 404
    assert client.ask("POST", f"{MAPS}?dryRun=Some", labelled("a")).code == 422


# --- deleting --------------------------------------------------------------------------------------------------------


def test_a_bound_pod_is_given_its_grace(client: Client) -> None:
    """A pod on a node is marked, and goes when its kubelet lets go; a waiting one goes at once."""
    client.make(PODS, pod("waiting"))
    client.make(PODS, pod("bound", nodeName="n"))
    client.ask("DELETE", f"{PODS}/waiting")
    marked = client.ask("DELETE", f"{PODS}/bound?gracePeriodSeconds=5").body

    assert client.get(PODS).names == ["bound"]
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 5
    assert marked["metadata"]["deletionTimestamp"]

    client.ask("DELETE", f"{PODS}/bound", {"gracePeriodSeconds": 0})
    assert client.get(PODS).names == []


def test_a_finalizer_holds_an_object_until_it_is_taken_off(client: Client) -> None:
    """An object with finalizers is marked as deleted and goes with its last finalizer."""
    client.make(MAPS, {"metadata": {"name": "a", "finalizers": ["x.y/z"]}})
    assert client.ask("DELETE", f"{MAPS}/a").body["metadata"]["deletionTimestamp"]
    assert client.get(f"{MAPS}/a").code == 200

    client.patch(f"{MAPS}/a", {"metadata": {"finalizers": None}})

    assert client.get(f"{MAPS}/a").code == 404


def test_a_precondition_that_does_not_hold_keeps_the_object(client: Client) -> None:
    """A deletion meant for another object, or another version of it, is a Conflict."""
    made = client.make(MAPS, labelled("a"))
    for wrong in ({"uid": "other"}, {"resourceVersion": "1"}):
        assert client.ask("DELETE", f"{MAPS}/a", {"preconditions": wrong}).reason == "Conflict"

    assert client.ask("DELETE", f"{MAPS}/a", {"preconditions": {"uid": made["metadata"]["uid"]}}).code == 200


def test_a_collection_is_deleted_by_selector(client: Client) -> None:
    """Only what is selected goes."""
    for name, app in (("a", "x"), ("b", "y"), ("c", "x")):
        client.make(MAPS, labelled(name, app=app))
    client.ask("DELETE", f"{MAPS}?labelSelector=app%3Dx")

    assert client.get(MAPS).names == ["b"]


# --- definitions and events ------------------------------------------------------------------------------------------


def test_a_defined_kind_is_served_until_its_definition_goes(client: Client) -> None:
    """Objects of a CustomResourceDefinition are stored, discovered and taken down with it."""
    names = {"plural": "things", "kind": "Thing", "shortNames": ["th"]}
    version = {"name": "v1", "served": True, "storage": True, "schema": {}}
    spec = {"group": "x.dev", "scope": "Namespaced", "names": names, "versions": [version]}
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    made = client.ask("POST", crds, {"metadata": {"name": "things.x.dev"}, "spec": spec})
    assert "not enforced" in made.headers["Warning"]

    things = "/apis/x.dev/v1/namespaces/default/things"
    client.make(things, {"metadata": {"name": "t"}, "spec": {"any": "shape"}})
    assert client.get("/apis/x.dev/v1").body["resources"][0]["shortNames"] == ["th"]
    assert client.get(things).names == ["t"]

    client.ask("DELETE", f"{crds}/things.x.dev")
    assert client.get(things).code == 404


def test_an_event_is_told_in_the_words_of_either_group(client: Client) -> None:
    """What is written through events.k8s.io is read through the core group, and the other way round."""
    new = "/apis/events.k8s.io/v1/namespaces/default/events"
    about = {"kind": "Pod", "name": "p"}
    written = client.make(new, {"metadata": {"name": "e"}, "regarding": about, "note": "hello", "reason": "Scheduled"})
    core = client.get("/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dp").body["items"][0]

    assert (written["note"], core["message"], core["involvedObject"]) == ("hello", "hello", about)
    assert client.get(f"{new}/e").body == written
    assert client.patch(f"{new}/e", {"note": "again"}).body["note"] == "again"
