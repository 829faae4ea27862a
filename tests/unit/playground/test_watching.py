"""Watches: what is told, in which order, and how they end."""

import socket

from bayplan.playground.running import Running
from tests.unit.playground.asking import TABLE, Client, labelled, seen

MAPS = "/api/v1/namespaces/default/configmaps"


def test_a_watch_tells_what_happens_after_a_revision(client: Client) -> None:
    """Changes since a list are told once each and in order."""
    client.make(MAPS, labelled("before"))
    revision = client.get(MAPS).body["metadata"]["resourceVersion"]
    client.make(MAPS, labelled("a"))
    client.patch(f"{MAPS}/a", {"data": {"k": "v"}})
    with client.watch(f"{MAPS}?watch=1&resourceVersion={revision}") as events:
        client.ask("DELETE", f"{MAPS}/a")
        told = [next(events) for _ in range(3)]

    assert [seen(event) for event in told] == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in told]
    assert versions == sorted(set(versions))


def test_a_watch_without_a_revision_begins_with_what_is_there(client: Client) -> None:
    """The objects that exist are told as added."""
    client.make(MAPS, labelled("a"))
    with client.watch(f"{MAPS}?watch=true") as events:
        first = next(events)
        client.make(MAPS, labelled("b"))

        assert [seen(first), seen(next(events))] == [("ADDED", "a"), ("ADDED", "b")]


def test_an_object_enters_and_leaves_what_a_watch_is_about(client: Client) -> None:
    """Who begins to be selected is added, who ceases to be is deleted."""
    client.make(MAPS, labelled("a"))
    with client.watch(f"{MAPS}?watch=1&resourceVersion=1&labelSelector=on") as events:
        client.patch(f"{MAPS}/a", {"metadata": {"labels": {"on": "1"}}})
        client.patch(f"{MAPS}/a", {"metadata": {"labels": {"on": None}}})

        assert [seen(next(events)) for _ in range(2)] == [("ADDED", "a"), ("DELETED", "a")]


def test_a_streaming_list_ends_with_a_bookmark(client: Client) -> None:
    """With sendInitialEvents the objects come first, then the mark that they were all."""
    client.make(MAPS, labelled("a"))
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    with client.watch(f"{MAPS}?{query}") as events:
        first, mark = next(events), next(events)

    assert seen(first) == ("ADDED", "a")
    assert mark["type"] == "BOOKMARK"
    assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert client.get(f"{MAPS}?watch=1&sendInitialEvents=true").reason == "Invalid"


def test_a_watch_ends_when_its_time_is_over(client: Client) -> None:
    """A last bookmark says how far it came."""
    with client.watch(f"{MAPS}?watch=1&resourceVersion=1&timeoutSeconds=1&allowWatchBookmarks=true") as events:
        told = list(events)

    assert [event["type"] for event in told] == ["BOOKMARK"]


def test_a_watch_from_a_forgotten_revision_is_told_so(client: Client) -> None:
    """The log is bounded: who comes back too late must list again."""
    for number in range(120):
        client.make(MAPS, labelled(f"a{number}"))
    with client.watch(f"{MAPS}?watch=1&resourceVersion=2") as events:
        told = list(events)

    assert [event["type"] for event in told] == ["ERROR"]
    assert (told[0]["object"]["code"], told[0]["object"]["reason"]) == (410, "Expired")


def test_a_watch_can_be_of_tables(client: Client) -> None:
    """Each change is a table of one row; only the first says what its columns are."""
    with client.watch(f"{MAPS}?watch=1&resourceVersion=1", TABLE) as events:
        client.make(MAPS, labelled("a"))
        client.make(MAPS, labelled("b"))
        first, second = next(events)["object"], next(events)["object"]

    assert [first["rows"][0]["cells"][0], second["rows"][0]["cells"][0]] == ["a", "b"]
    assert first["columnDefinitions"]
    assert not second["columnDefinitions"]


def test_many_watchers_are_told_the_same(client: Client, up: Running) -> None:
    """A watch holds a place in the log, so that each has its own."""
    client.make(MAPS, labelled("a"))
    path = f"{MAPS}?watch=1&resourceVersion=1"
    with client.watch(path) as one, client.watch(path) as other:
        client.make(MAPS, labelled("b"))

        assert [seen(next(one)) for _ in range(2)] == [seen(next(other)) for _ in range(2)]


def test_a_watcher_that_does_not_read_is_cut_off(up: Running) -> None:
    """What waits for it is bounded, and others are told meanwhile."""
    up.server.slow_reader_s = 0.05
    client = Client(up.server.port)
    with socket.create_connection(("127.0.0.1", up.server.port), timeout=20) as idle:
        idle.sendall(f"GET {MAPS}?watch=1 HTTP/1.1\r\nHost: 127.0.0.1:{up.server.port}\r\n\r\n".encode())
        assert idle.recv(1)  # the watch has begun; from here on nothing is read
        for number in range(24):
            client.make(MAPS, {"metadata": {"name": f"m{number}"}, "data": {"k": "x" * 2**20}})
        while up.call(lambda server: len(server._watches)):
            pass  # until it was given up

        assert read_to_the_end(idle) < 24 * 2**20
    assert len(client.get(MAPS).names) == 24


def read_to_the_end(connection: socket.socket) -> int:
    """Read what comes until the other side ends, and give how much that was."""
    size = 0
    try:
        while piece := connection.recv(2**20):
            size += len(piece)
    except ConnectionError:
        pass
    return size
