"""Whatever a client sends, it gets an answer that is not the server's fault."""

import json
from http.client import HTTPConnection
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayplan.playground.kinds import Kinds
from bayplan.playground.running import Running
from tests.unit.playground.asking import JSON_PATCH, MERGE, STRATEGIC

WORDS = st.sampled_from(
    [
        *("a", "b", "", "x" * 300, "metadata", "name", "labels", "spec", "status", "containers", "finalizers", "kind"),
        *("conditions", "type", "ports", "$patch", "delete", "replace", "$retainKeys", "$setElementOrder/containers"),
        *("replicas", "selector", "template", "resources", "limits", "cpu", "tolerations", "schedulingGates", "names"),
        *("op", "path", "value", "/metadata/labels", "/spec/containers/0", "add", "remove", "move", "from", "uid"),
        *("deletionTimestamp", "resourceVersion", "generation", "target", "deleteOptions", "preconditions", "versions"),
    ]
)
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False), WORDS)
TREES = st.recursive(LEAVES, lambda below: st.lists(below, max_size=4) | st.dictionaries(WORDS, below, max_size=5))
PLACES = st.sampled_from(
    [
        f"/{'apis/' + kind.group if kind.group else 'api'}/{kind.version}/{scope}{kind.plural}"
        for kind in Kinds()
        for scope in (["namespaces/default/"] if kind.namespaced else [""])
    ]
)
ENDS = st.sampled_from(
    ["", "/a", "/a/status", "/a/scale", "/a/binding", "/a/eviction", "/a/finalize", "/%00", "/a/b/c"]
)
QUERIES = st.dictionaries(
    st.sampled_from(
        [
            *("labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "resourceVersionMatch"),
            *("dryRun", "gracePeriodSeconds", "propagationPolicy", "includeObject", "fieldManager"),
        ]
    ),
    st.sampled_from(["", "a", "a=b", "a in (", "1", "-1", "99", "All", "Exact", "Orphan", "None", "é", "{}", "=" * 99]),
    max_size=3,
)
PATHS = st.builds(
    lambda place, end, query: f"{place}{end}?" + "&".join(f"{key}={quote(value)}" for key, value in query.items()),
    *(PLACES, ENDS, QUERIES),
)
MEDIA = st.sampled_from(["application/json", "application/yaml", MERGE, STRATEGIC, JSON_PATCH, "a/b", ""])
METHODS = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"])


def sound(up: Running, method: str, path: str, raw: bytes, media: str) -> None:
    """Send a request and claim that the server answers it as one that is its client's to get right."""
    connection = HTTPConnection("127.0.0.1", up.server.port, timeout=20)
    try:
        connection.request(method, path, raw, {"Content-Type": media, "Accept": "application/json"})
        response = connection.getresponse()
        told = json.loads(response.read())
    finally:
        connection.close()

    assert response.status < 500 or told["reason"] == "Timeout", told
    assert told["kind"]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(method=METHODS, path=PATHS, tree=TREES, media=MEDIA)
def test_any_request_is_answered(up: Running, *, method: str, path: str, tree: object, media: str) -> None:
    """Any verb on any path with any query and any body."""
    raw = json.dumps(tree).encode() if method != "GET" else b""

    sound(up, method, path, raw, media)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=PLACES, tree=TREES, more=TREES, media=st.sampled_from([MERGE, STRATEGIC, JSON_PATCH]))
def test_any_shape_of_an_object_is_borne(up: Running, *, place: str, tree: object, more: object, media: str) -> None:
    """An object of any shape is created, patched, listed as a table, and deleted, or refused."""
    parts = tree if isinstance(tree, dict) else {"spec": tree}
    made = {**parts, "metadata": {"name": "a"}, "kind": "", "apiVersion": ""}
    sound(up, "POST", place, json.dumps(made).encode(), "application/json")
    sound(up, "PATCH", f"{place}/a", json.dumps(more).encode(), media)
    sound(up, "PATCH", f"{place}/a/status", json.dumps({"status": more}).encode(), MERGE)
    sound(up, "POST", f"{place}/a/eviction", b"{}", "application/json")
    sound(up, "DELETE", f"{place}/a", b"", "application/json")


@pytest.mark.parametrize(
    "path", ["//", "/api//v1", "/api/v1/pods/../../x", "/%zz", "/api/v1/pods?%zz=%", "/apis/a/b/c?watch=1"]
)
def test_any_path_is_answered(up: Running, path: str) -> None:
    """Paths that no client means are not found."""
    connection = HTTPConnection("127.0.0.1", up.server.port, timeout=20)
    connection.request("GET", path)
    response = connection.getresponse()
    response.read()
    connection.close()

    assert response.status < 500
