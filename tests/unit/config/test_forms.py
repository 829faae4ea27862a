"""A configuration's form is told by what is in it."""

import pytest

from bayplan.config.forms import is_batch, is_headless, is_ours, is_policy

BATCH: list[dict[str, object]] = [{"actions": ""}, {"tiers": []}, {"plugins": ""}, {"plugin.gang.jobready": ""}]
POLICY: list[dict[str, object]] = [{"Kind": "Policy"}, {"predicates": []}, {"PRIORITIES": None}]
OURS: list[dict[str, object]] = [{"kind": "BayplanConfiguration", "plugins": []}, {"apiVersion": "bayplan.dev/v9"}]
KUBE: list[dict[str, object]] = [{"profiles": []}, {"kind": "KubeSchedulerConfiguration"}, {"apiVersion": "v1"}]
NONE: list[dict[str, object]] = [{}, {"partitions": []}, {"plugins": []}]


@pytest.mark.parametrize(("trees", "is_form"), [(BATCH, is_batch), (POLICY, is_policy), (OURS, is_ours),
                                                (NONE, is_headless)])  # fmt: skip
def test_each_form_is_one(trees: list[dict[str, object]], is_form: object) -> None:
    """And none is another."""
    for tree in trees:
        assert [form for form in (is_batch, is_policy, is_ours, is_headless) if form(tree)] == [is_form]


def test_the_rest_is_kube_schedulers() -> None:
    """A file that says what it is, or has one of its fields."""
    for tree in KUBE:
        assert not any(form(tree) for form in (is_batch, is_policy, is_ours, is_headless))
