"""Who mounts what where, however pods come and go."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from bayplan.api.objects import uid_of
from tests.kit import a_cluster, a_pod, node
from tests.storage import mounting

NODES = ("m", "n")
PODS = [
    mounting(a_pod("one"), "x"),
    mounting(a_pod("two"), "x", "y"),
    mounting(a_pod("own"), "own:", "x"),
    mounting(a_pod("none"), "empty:"),
    mounting(a_pod("disk"), "gce:d"),
]


@given(st.lists(st.tuples(st.sampled_from(PODS), st.sampled_from(NODES)), max_size=20))
def test_counts_are_those_of_the_pods_that_are_there(steps: list[tuple[object, str]]) -> None:
    """A pod that is there already goes, others come."""
    cluster = a_cluster(*map(node, NODES))
    there: dict[str, tuple[object, str]] = {}
    for pod, name in steps:
        uid = uid_of(pod)  # type: ignore[arg-type]
        if uid in there:
            cluster.remove(uid)
            del there[uid]
        else:
            cluster.place(pod, cluster.row_of[name])  # type: ignore[arg-type]
            there[uid] = pod, name
    mounted, names = cluster.volumes.mounted, [pod.metadata.name for pod, _ in there.values()]  # type: ignore[attr-defined]
    rows = {name: cluster.row_of[name] for name in NODES}

    for name, row in rows.items():
        expected = {uid for uid, (pod, on) in there.items() if on == name and pod is not PODS[3]}
        assert {resident.uid for resident in mounted.on(row)} == expected
    assert mounted.is_used("default/x") is bool({"one", "two", "own"} & set(names))
    assert mounted.is_used("default/own-v0") is False
    assert mounted.is_named("default/own-v0") is ("own" in names)
    users = Counter(on for pod, on in there.values() if pod in PODS[:3])
    assert set(mounted.rows_of("default/x")) == {rows[name] for name in users}


def test_a_nominated_pod_names_its_claims_but_uses_none() -> None:
    """It runs nowhere yet."""
    cluster = a_cluster(node("n"), mounting(a_pod("hopeful", nominated="n"), "x"))
    mounted = cluster.volumes.mounted
    assert (mounted.is_named("default/x"), mounted.is_used("default/x")) == (True, False)

    cluster.drop_nomination("uid-default-hopeful")
    assert not mounted.is_named("default/x")
