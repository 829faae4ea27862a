"""What is filled in wherever an object is read, quantities in their shortest form, and what protects what is used."""

import pytest

from bayplan.playground.quantities import canonical
from tests.unit.playground.asking import PODS, Client, awaited, gone, labelled, pod

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("1000m", "1"),
        ("0.5", "500m"),
        (2, "2"),
        ("1024Mi", "1Gi"),
        ("1536Mi", "1536Mi"),
        ("0.5Gi", "512Mi"),
        ("1000000", "1M"),
        ("0", "0"),
        ("1e3", None),
        ("much", None),
    ],
)
def test_a_quantity_is_told_in_its_shortest_form(written: str | int, told: str | None) -> None:
    """In the family of suffixes that it came in; what is no quantity, or has an exponent, is left as it is."""
    assert canonical(written) == told


def test_an_update_is_completed_as_a_new_object_is(client: Client) -> None:
    """Who leaves out what was filled in changes nothing."""
    made = client.make(PODS, pod())
    again = client.ask("PUT", f"{PODS}/a", {**pod(), "metadata": {"name": "a"}})

    assert again.body == made


def test_an_update_makes_what_is_not_there_of_some_kinds(client: Client) -> None:
    """Of a lease, not of a config map; and of a lease that is there it says of which state."""
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    assert client.ask("PUT", f"{leases}/l", {"metadata": {"name": "l"}}).code == 201
    assert client.ask("PUT", f"{leases}/l", {"metadata": {"name": "l"}}).code == 422
    assert client.ask("PUT", "/api/v1/namespaces/default/configmaps/m", labelled("m")).code == 404


def test_a_claim_stays_while_a_pod_uses_it(live: Client) -> None:
    """It is deleted when the pod is."""
    live.make(CLAIMS, {"metadata": {"name": "c"}, "spec": {**CLAIM, "storageClassName": "none"}})
    live.make(PODS, pod(nodeName="n", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]))
    live.ask("DELETE", f"{CLAIMS}/c")
    awaited(live, CLAIMS, lambda one: "deletionTimestamp" in one["metadata"])
    assert live.get(f"{CLAIMS}/c").body["spec"]["resources"]["requests"] == {"storage": "1Gi"}
    live.ask("DELETE", f"{PODS}/a")

    assert gone(live, CLAIMS, "c")
