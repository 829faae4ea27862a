"""What is in force is shown so that, given back as a file, it is the same."""

import json
from pathlib import Path

import pytest

from bayplan.config import source
from bayplan.config.files import read
from bayplan.config.gates import CHOOSE, gates
from bayplan.config.policy import from_provider
from bayplan.config.profiles import profiles
from bayplan.config.shown import Flags, shown
from bayplan.config.yamltext import bare, text
from bayplan.framework.plugin import NO_GATES, Gates
from bayplan.framework.profile import Profile
from bayplan.framework.registry import Registry
from tests.unit.config.conftest import HEADER
from tests.unit.config.test_decode import EVERY_FIELD
from tests.unit.config.test_files import OURS
from tests.unit.config.test_stored_configurations import CONFIGURED

FOLDER = Path(__file__).parent / "policies"
POLICIES = [(FOLDER / name).read_text() for name in ("kubernetes-1.0.json", "kubernetes-1.13.yaml")]


def sheet(given: str, registry: Registry, chosen: Gates = NO_GATES) -> str:
    """Show a text."""
    return text(shown(read(source.of_text(given, "s.yaml"), registry, chosen), registry, chosen, Flags()))


def values(given: str, registry: Registry, chosen: Gates = NO_GATES) -> object:
    """Return what is shown of a text, without where it comes from."""
    return bare(shown(read(source.of_text(given, "s.yaml"), registry, chosen), registry, chosen, Flags()))


def summary(profile: Profile) -> object:
    """Return what a profile comes to."""
    return {
        point: [(one.name, one.weight, type(one.plugin).__name__, one.plugin.arguments) for one in instances]
        for point, instances in profile.points.items()
    }


def assert_stays(given: str, registry: Registry, chosen: Gates = NO_GATES) -> None:
    """Claim that what is shown of a text shows the same, and makes the same profiles."""
    once = sheet(given, registry, chosen)
    again = read(source.of_text(once), registry, chosen)
    before = profiles(read(source.of_text(given), registry, chosen).configuration, registry, chosen)
    after = profiles(again.configuration, registry, chosen)

    assert values(given, registry, chosen) == values(once, registry, chosen)
    assert not again.warnings
    assert {name: summary(one) for name, one in before.items()} == {name: summary(one) for name, one in after.items()}


BATCHES = f"""{OURS}
batch:
- schedulerName: a
  behaviour: kube-batch
  conf:
    actions: "allocate, backfill"
    tiers:
    - plugins:
      - name: gang
        enableReclaimable: false
      - name: nodeorder
        arguments: {{podaffinity.weight: 2}}
    - plugins: []
- {{schedulerName: b, conf: {{actions: preempt, plugin.drf.joborder: T, plugins: drf}}, namespaceAsQueue: false}}
- {{schedulerName: c, period: 500ms, defaultQueue: q}}
"""


@pytest.mark.parametrize("given", [
    HEADER + EVERY_FIELD, BATCHES, "actions: allocate\nplugins: gang\nplugin.gang.jobready: '1'",
    f"{OURS}bindPods: {{qps: 2}}\nbatch: [{{schedulerName: b}}]", OURS])  # fmt: skip
def test_what_is_shown_is_the_same_again(registry: Registry, given: str) -> None:
    """Whatever was said."""
    assert_stays(given, registry)


@pytest.mark.parametrize("given", [*POLICIES, "predicates: []\npriorities: []", "kind: Policy"])
def test_a_policy_stays_one(installed: Registry, given: str) -> None:
    """It holds what today's form cannot say."""
    assert_stays(given, installed)


def test_stored_configurations_stay_what_they_are(installed: Registry) -> None:
    """Everything that kube-scheduler accepted in the stored cases."""
    for case in list(CONFIGURED.values())[::7]:
        settings = {name: on for name, on in case.get("featureGates", {}).items() if name in CHOOSE}

        assert_stays(json.dumps(case["config"]), installed, gates(settings))


def line_of(sheet: str, word: str) -> str:
    """Return the first line that has a word."""
    return next(line for line in sheet.splitlines() if word in line)


def test_each_value_says_where_it_comes_from(installed: Registry) -> None:
    """The default, or the file and line."""
    found = sheet(
        f"{HEADER}parallelism: 3\nprofiles:\n- plugins:\n    score:\n      enabled:\n      - name: ImageLocality\n"
        "        weight: 7\n  pluginConfig:\n  - name: InterPodAffinity\n    args: {hardPodAffinityWeight: 9}\n",
        installed,
    )

    assert line_of(found, "parallelism").endswith("# s.yaml:3")
    assert line_of(found, "podMaxBackoffSeconds").endswith("# default")
    assert line_of(found, "weight: 7").endswith("# s.yaml:9")
    assert line_of(found, "hardPodAffinityWeight: 9").endswith("# s.yaml:12")
    assert line_of(found, "ignorePreferredTermsOfExistingPods").endswith("# default")
    assert line_of(found, "name: NodeName").endswith("# default")


def test_a_policy_says_what_its_names_are_today(installed: Registry) -> None:
    """And which rules nobody named."""
    found = sheet("PREDICATES:\n- name: GeneralPredicates\npriorities: null\n", installed)

    assert line_of(found, "GeneralPredicates").endswith(
        "# s.yaml:2; today NodeResourcesFit, NodeName, NodePorts, NodeAffinity"
    )
    assert line_of(found, "PodToleratesNodeTaints").endswith("# mandatory; today TaintToleration")
    assert line_of(found, "LeastRequestedPriority").endswith("# default; today NodeResourcesFit")
    assert line_of(found, "qps").endswith("# default under a Policy")


def test_batch_profiles_say_where_each_switch_comes_from(installed: Registry) -> None:
    """What is absent is off in the flat map and on in tiers."""
    found = sheet(BATCHES, installed)

    assert line_of(found, "enableReclaimable: false").endswith("# s.yaml:12")
    assert line_of(found, "podaffinity.weight").endswith("# s.yaml:14")
    assert line_of(found, "enableJobOrder: true").endswith("# default")
    assert line_of(found, "plugin.drf.joborder").endswith("# s.yaml:16")
    assert line_of(found, 'plugin.drf.preemptable: "false"').endswith("# default")
    assert line_of(found, 'plugins: "gang, priority, drf, predicates, proportion"').endswith("# default")
    assert line_of(found, "namespaceAsQueue: false").endswith("# default of tiers")


def test_the_same_batch_configurations_are_read_again(installed: Registry) -> None:
    """Form, actions, tiers, switches, arguments and all the rest."""
    once = read(source.of_text(BATCHES), installed, NO_GATES).batches
    again = read(source.of_text(sheet(BATCHES, installed)), installed, NO_GATES).batches

    assert [batch.configuration for batch in once] == [batch.configuration for batch in again]


def test_flags_are_named(registry: Registry) -> None:
    """A provider and rules given by hand were said on the command line."""
    registry._by_hand.append("Beta")
    flags = Flags(("rules.py",), ("DefaultProvider", from_provider("DefaultProvider")))
    provided = text(shown(None, Registry.installed(), NO_GATES, flags))
    by_hand = text(shown(None, registry, NO_GATES, Flags(("rules.py",))))

    assert line_of(provided, "NoDiskConflict").endswith(
        "# flag --algorithm-provider DefaultProvider; today VolumeRestrictions"
    )
    assert line_of(by_hand, "name: Beta").endswith("# flag --plugin or plugins below")
    assert line_of(by_hand, "rules.py").endswith("# flag --plugin")


def test_a_rule_spelled_out_stays_spelled_out(registry: Registry) -> None:
    """Whoever reads it back finds it."""
    given = f"{HEADER}profiles: [{{plugins: {{score: {{enabled: [{{name: 'tests.unit.config.conftest:Beta'}}]}}}}}}]"

    assert "tests.unit.config.conftest:Beta" in sheet(given, Registry())


def test_paths_are_shown_so_that_they_are_found_from_anywhere(installed: Registry, tmp_path: Path) -> None:
    """What was seen from the settings is shown in full."""
    (tmp_path / "rules.py").write_text("import bayplan\n@bayplan.score\ndef dear(pod, nodes): return nodes.live * 1\n")
    loaded = read(source.of_text(f"{OURS}plugins: [rules.py]", str(tmp_path / "s.yaml")), installed, NO_GATES, tmp_path)
    found = text(shown(loaded, installed, NO_GATES, Flags()))

    assert line_of(found, "rules.py").startswith(f'- "{tmp_path.resolve()}/rules.py"')
