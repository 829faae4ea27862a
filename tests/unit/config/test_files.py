"""A file is told apart by what is in it."""

from pathlib import Path

import pytest

from bayplan.config.complaints import ConfigError
from bayplan.config.files import load
from bayplan.framework.registry import Registry
from tests.unit.config.conftest import HEADER


def test_a_kube_scheduler_configuration(registry: Registry, tmp_path: Path) -> None:
    """Today's form is decoded, and its places carry the file's name."""
    file = tmp_path / "s.yaml"
    file.write_text(f"{HEADER}parallelism: 3\n")

    found = load(file, registry)

    assert found.configuration.parallelism == 3
    assert found.place_of(("parallelism",)) == (3, 1)


@pytest.mark.parametrize(("text", "form"), [
    ("kind: Policy\napiVersion: v1\npredicates: [{name: PodFitsPorts}]", "a scheduler Policy"),
    ('{"predicates": [], "priorities": []}', "a scheduler Policy"),
    ("apiVersion: bayplan.dev/v1alpha1\nkind: BayplanConfiguration", "a BayplanConfiguration"),
    ('actions: "allocate, backfill"\ntiers: []', "a configuration of kube-batch or Volcano"),
])  # fmt: skip
def test_other_forms_are_refused_by_name(registry: Registry, tmp_path: Path, text: str, form: str) -> None:
    """A known form that is not read yet is called what it is."""
    file = tmp_path / "s.yaml"
    file.write_text(text)

    with pytest.raises(ConfigError, match=rf"s\.yaml:1:1: this is {form}.*, which is not read yet"):
        load(file, registry)
