"""Resources: paths of kinds."""

import msgspec
import pytest

from bayplan.api.decode import KINDS
from bayplan.api.wider import widened
from bayplan.kube.resources import resources
from bayplan.playground.kinds import Kinds

ALL = resources()


@pytest.mark.parametrize("kind", ALL)
def test_every_kind_is_one_that_an_api_server_serves(kind: str) -> None:
    """Under that path, with or without namespaces."""
    it = ALL[kind]
    served = Kinds().find(it.group, it.version, it.plural)

    assert served is not None
    assert (served.name, served.namespaced) == (kind, it.is_namespaced)


def test_paths_of_one_and_of_all() -> None:
    """What is in them is escaped."""
    assert ALL["Pod"].path == "/api/v1/pods"
    assert ALL["Pod"].path_of("a b", "c/d") == "/api/v1/namespaces/a%20b/pods/c%2Fd"
    assert ALL["CSINode"].path_of("", "n") == "/apis/storage.k8s.io/v1/csinodes/n"
    assert ALL["Pod"]._replace(namespace="x").path == "/api/v1/namespaces/x/pods"


def test_wider_structs_are_read_where_rules_want_more() -> None:
    """The struct is that of the kinds that are given."""
    wider = resources(widened(KINDS, ["pod.metadata.annotations"]))

    assert wider["Pod"].struct is not ALL["Pod"].struct
    assert "annotations" in {field.name for field in msgspec.structs.fields(wider["Pod"].struct().metadata)}  # type: ignore[attr-defined]
