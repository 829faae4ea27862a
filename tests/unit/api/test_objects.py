"""The structs are named as Kubernetes names things, and hold still."""

import re
from collections.abc import Iterator

import msgspec
import pytest

from bayplan.api import claims, objects, policies, workloads
from bayplan.api.decode import KINDS
from bayplan.api.objects import Node, Object, ObjectMeta, Pod, PodMeta, uid_of


def structs() -> Iterator[type[Object]]:
    """Give every struct of the room."""
    for module in (objects, policies, workloads, claims):
        for thing in vars(module).values():
            if isinstance(thing, type) and issubclass(thing, Object) and thing.__module__ == module.__name__:
                yield thing


@pytest.mark.parametrize("struct", list(structs()), ids=lambda struct: struct.__name__)
def test_a_struct_is_frozen_and_has_gos_zero_values(struct: type[Object]) -> None:
    """Made of nothing, never changed, and not looked at by the garbage collector."""
    empty = struct()

    assert struct.__struct_config__.frozen
    assert not struct.__struct_config__.gc
    assert empty == msgspec.convert({}, struct)


@pytest.mark.parametrize("struct", list(structs()), ids=lambda struct: struct.__name__)
def test_initials_are_capitals_in_field_names(struct: type[Object]) -> None:
    """As in hostIP and volumeID, where camel-casing alone would write hostIp and volumeId."""
    assert not [name for name in struct.__struct_encode_fields__ if re.search(r"(Ip|Id|Uri|Ebs|Csi)($|[A-Z])", name)]


def test_a_uid_is_made_up_where_there_is_none() -> None:
    """Of kind, namespace and name."""
    assert uid_of(Pod(metadata=PodMeta(name="web", namespace="shop"))) == "pod/shop/web"
    assert uid_of(Node(metadata=ObjectMeta(name="n"))) == "node//n"
    assert uid_of(Node(metadata=ObjectMeta(name="n", uid="u"))) == "u"


def test_every_kind_has_metadata() -> None:
    """And stands under its own name."""
    for (_, name), kind in KINDS.items():
        assert name == kind.__name__
        assert "metadata" in kind.__struct_fields__
