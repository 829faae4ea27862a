"""kube-batch's files, in both of their forms, become one form in which every switch has its value."""

from pathlib import Path

import pytest

from bayplan.config import source
from bayplan.config.batch import DOCUMENTED, LoadedBatch, documented, load_batch, read_batch
from bayplan.config.complaints import Complaints, ConfigError
from bayplan.config.ours import BatchProfile
from bayplan.framework.tiers import Behaviour, TierPlugin
from tests.kit import case

TIERS = """
actions: "reclaim, allocate, backfill, preempt"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
"""
FAMILIES = tuple(name for name in TierPlugin.__struct_fields__ if name.startswith("enable_"))


def batch(text: str, behaviour: Behaviour = "bayplan") -> LoadedBatch:
    """Read a text."""
    return read_batch(source.of_text(text, "b.yaml"), BatchProfile(behaviour=behaviour))


def plugins(text: str, behaviour: Behaviour = "bayplan") -> dict[str, TierPlugin]:
    """Return a text's plugins by name."""
    return {plugin.name: plugin for plugin in batch(text, behaviour).configuration.plugins}


def off(plugin: TierPlugin) -> list[str]:
    """Name the families in which a plugin does not vote."""
    return [family.removeprefix("enable_") for family in FAMILIES if not getattr(plugin, family)]


def complaints(text: str) -> list[str]:
    """Return what is wrong with a text."""
    with pytest.raises(ConfigError) as caught:
        batch(text)
    return [str(complaint) for complaint in caught.value.complaints]


def warnings(text: str) -> list[str]:
    """Return what is odd about a text."""
    return [str(warning) for warning in batch(text).warnings]


# --- the flat map -----------------------------------------------------------------------------------------------------


def test_without_a_file_the_documented_map_is_in_force() -> None:
    """Its actions, its plugins, and just the switches that it turns on."""
    found = documented(BatchProfile(scheduler_name="kube-batch", behaviour="kube-batch"))

    assert found.actions == ("reclaim", "allocate", "preempt")
    assert {plugin.name: off(plugin) for plugin in found.plugins} == {
        "gang": ["task_order", "reclaimable"],
        "priority": ["job_ready", "preemptable"],
        "drf": ["job_ready", "task_order"],
        "predicates": ["job_order", "job_ready", "task_order", "preemptable"],
        "proportion": ["job_order", "job_ready", "task_order", "preemptable"],
    }
    assert (found.form, len(found.tiers), found.namespace_as_queue, found.scheduler_name) == (
        "flat", 1, True, "kube-batch",
    )  # fmt: skip


def test_the_documented_map_as_a_file_is_the_same() -> None:
    """Whether its values are texts, as in a ConfigMap, or YAML's own."""
    said = "\n".join(f'{key}: "{value}"' for key, value in DOCUMENTED.items())
    plain = "\n".join(f"{key}: {value}" for key, value in DOCUMENTED.items())

    assert batch(said).configuration == batch(plain).configuration == documented(BatchProfile())
    assert warnings(said) == []


def test_a_map_that_says_less_means_less() -> None:
    """Other actions and plugins than the documented ones, and every switch off."""
    found = batch("plugin.gang.jobready: 'true'\n").configuration

    assert found.actions == ("allocate", "preempt")
    assert [plugin.name for plugin in found.plugins] == ["gang", "priority", "drf"]
    assert off(next(found.plugins)) == ["job_order", "task_order", "preemptable"]


@pytest.mark.parametrize(("written", "is_on"), [
    ("'true'", True), ("true", True), ("'T'", True), ("'1'", True), ("1", True), ("TRUE", True),
    ("'false'", False), ("false", False), ("'0'", False), ("''", False), ("'enabled'", False),
])  # fmt: skip
def test_a_switch_is_read_as_go_reads_it(written: str, is_on: bool) -> None:  # noqa: FBT001 a column of the table
    """What is neither true nor false is false."""
    assert plugins(f"plugins: gang\nplugin.gang.jobready: {written}")["gang"].enable_job_ready is is_on


def test_an_unreadable_switch_is_said() -> None:
    """It is off, and nobody has to guess why."""
    text = "plugins: gang\nplugin.gang.joborder: 'yes please'"

    assert warnings(text) == [
        'b.yaml:2:1: plugin.gang.joborder: "yes please" is neither "true" nor "false", which kube-batch reads as false'
    ]


def test_gang_has_a_say_in_reclaiming_where_it_is_done_right() -> None:
    """The first versions of kube-batch did not ask it."""
    text = "plugins: gang, drf\nplugin.gang.jobready: 'true'\nplugin.drf.joborder: 'true'"

    assert plugins(text, "kube-batch")["gang"].enable_reclaimable is False
    assert plugins(text, "bayplan")["gang"].enable_reclaimable is True
    assert plugins(text, "kube-batch")["drf"].enable_reclaimable is True


@pytest.mark.parametrize(("text", "takes"), [
    ("actions: allocate, preempt", True),
    ("actions: allocate, backfill", False),
    ("actions: allocate\ntiers: []", False),
])  # fmt: skip
def test_who_takes_pods_that_request_nothing(text: str, takes: bool) -> None:  # noqa: FBT001 a column of the table
    """In the flat form allocate, unless backfill looks for them."""
    assert batch(text).configuration.allocates_empty_pods is takes


def test_a_config_map_is_looked_into() -> None:
    """That is how kube-batch was given the flat map; lines are the file's."""
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata:\n  actions: allocate\n  plugins: gang\n"

    assert batch(text).configuration.actions == ("allocate",)
    assert complaints(text.replace("gang", "gong")) == [
        'b.yaml:6:3: plugins: unknown plugin "gong"; did you mean "gang"?'
    ]


def test_silent_plugins_are_named() -> None:
    """A plugin that is listed and never votes was probably meant to."""
    assert warnings("plugins: gang, predicates") == [
        'b.yaml:1:1: plugins: no switch of gang is on, and absent ones are off; was plugin.gang.jobready: "true" meant?'
    ]
    assert warnings("plugins: gang\nplugin.gang.jobready: 'false'") == []


# --- tiers ------------------------------------------------------------------------------------------------------------


def test_tiers_keep_their_order_and_everything_is_on() -> None:
    """As kube-batch ships them."""
    found = batch(TIERS).configuration

    assert found.actions == ("reclaim", "allocate", "backfill", "preempt")
    assert [[plugin.name for plugin in tier.plugins] for tier in found.tiers] == [
        ["priority", "gang", "conformance"],
        ["drf", "predicates", "proportion", "nodeorder"],
    ]
    assert {name: off(plugin) for plugin in found.plugins for name in [plugin.name] if off(plugin)} == {}
    assert (found.form, found.namespace_as_queue) == ("tiers", False)


@pytest.mark.parametrize(("field", "family"), [
    ("enableJobOrder", "job_order"), ("enableJobReady", "job_ready"), ("enableJobPipelined", "job_pipelined"),
    ("enableTaskOrder", "task_order"), ("enablePreemptable", "preemptable"), ("enableReclaimable", "reclaimable"),
    ("enableQueueOrder", "queue_order"), ("enablePredicate", "predicate"), ("enableNodeOrder", "node_order"),
])  # fmt: skip
def test_each_switch_turns_one_family_off(field: str, family: str) -> None:
    """Null is on, like absent."""
    text = "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n    {}: {}\n"

    assert off(plugins(text.format(field, "false"))["gang"]) == [family]
    assert off(plugins(text.format(field, "null"))["gang"]) == []


def test_arguments_are_texts() -> None:
    """However YAML reads them."""
    arguments = "{leastrequested.weight: 2, mostrequested.weight: '-3'}"
    text = f"actions: allocate\ntiers: [{{plugins: [{{name: nodeorder, arguments: {arguments}}}]}}]"
    found = plugins(text)["nodeorder"]
    pressure = plugins(
        "actions: allocate\ntiers: [{plugins: [{name: predicates, arguments: {predicate.PIDPressureEnable: true}}]}]"
    )["predicates"]

    assert found.arguments == {"leastrequested.weight": "2", "mostrequested.weight": "-3"}
    assert (found.number("mostrequested.weight", 0), found.number("podaffinity.weight", 1)) == (-3, 1)
    assert pressure.truth("predicate.PIDPressureEnable", default=False)
    assert not pressure.truth("predicate.DiskPressureEnable", default=False)


def test_a_plugin_in_two_tiers_has_the_last_arguments_in_both() -> None:
    """As kube-batch, which makes it once."""
    text = (
        "actions: allocate\ntiers:\n- plugins: [{name: nodeorder, arguments: {nodeaffinity.weight: 1}}]\n"
        "- plugins: [{name: nodeorder, arguments: {nodeaffinity.weight: 7}}]\n"
    )

    assert [one.number("nodeaffinity.weight", 0) for one in batch(text).configuration.plugins] == [7, 7]
    assert warnings(text) == [
        (
            "b.yaml:4:13: tiers[1].plugins[0]: nodeorder stands at tiers[0].plugins[0] too; "
            "it votes at both, with the last arguments"
        ),
    ]


def test_namespaces_are_queues_as_somebody_says_or_as_the_form_has_it() -> None:
    """On with the flat map, off with tiers, unless it is said."""
    said = [
        read_batch(source.of_text(text), BatchProfile(namespace_as_queue=wish)).configuration.namespace_as_queue
        for text in ("actions: allocate", TIERS)
        for wish in (None, True, False)
    ]

    assert said == [True, True, False, False, True, False]


# --- what is wrong ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "message"), [
    case("an action", "actions: allocate, preemt", '1:1: actions: unknown action "preemt"; did you mean "preempt"?'),
    case("an empty action", "actions: allocate,",
         "1:1: actions: expected a name, got nothing; is there a comma too many?"),
    case("actions as a list", "actions: [allocate, backfill]",
         '1:1: actions: expected actions with commas between them, got a list; write "allocate, backfill"'),
    case("a plugin", "plugins: gang, priorty", '1:1: plugins: unknown plugin "priorty"; did you mean "priority"?'),
    case("a switch", "plugin.gang.jobReady: true",
         '1:1: plugin.gang.jobReady: unknown switch "jobReady"; did you mean "jobready"?'),
    case("a switch of a plugin that there is not", "plugin.gnag.jobready: true",
         '1:1: plugin.gnag.jobready: unknown plugin "gnag"; did you mean "gang"?'),
    case("a switch that is a list", "plugins: gang\nplugin.gang.jobready: [1]",
         '2:1: plugin.gang.jobready: expected "true" or "false", got a list'),
    case("a field of the flat map", "actions: allocate\nplugin: gang",
         '2:1: plugin: unknown field "plugin"; did you mean "plugins"?'),
    case("a field of the tiers", "actions: allocate\ntiers: []\nteirs: []",
         '3:1: teirs: unknown field "teirs"; did you mean "tiers"?'),
    case("no actions beside tiers", "tiers: []", "1:1: actions: is required"),
    case("a plugin in a tier", "actions: allocate\ntiers:\n- plugins:\n  - name: gnag",
         '4:5: tiers[0].plugins[0].name: unknown plugin "gnag"; did you mean "gang"?'),
    case("a plugin without a name", "actions: allocate\ntiers:\n- plugins:\n  - enableJobOrder: true",
         "4:5: tiers[0].plugins[0].name: is required"),
    case("a plugin that is no map", "actions: allocate\ntiers:\n- plugins: [gang]",
         '3:13: tiers[0].plugins[0]: expected a map, got the text "gang"'),
    case("a switch in a tier", "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n    enableJobOrdr: true",
         '5:5: tiers[0].plugins[0].enableJobOrdr: unknown field "enableJobOrdr"; did you mean "enableJobOrder"?'),
    case("a switch that is a text", "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n    enableJobOrder: 'true'",
         '5:5: tiers[0].plugins[0].enableJobOrder: expected true or false, got the text "true"; '
         "without quotes it may be one"),
    case("an argument", "actions: allocate\ntiers: [{plugins: [{name: nodeorder, arguments: {podafinity.weight: 1}}]}]",
         '2:50: tiers[0].plugins[0].arguments.podafinity.weight: unknown argument "podafinity.weight"; '
         'did you mean "podaffinity.weight"?'),
    case("an argument of one that takes none",
         "actions: allocate\ntiers: [{plugins: [{name: gang, arguments: {a: 1}}]}]",
         "2:45: tiers[0].plugins[0].arguments.a: gang takes no arguments; leave it out"),
    case("a number that is none",
         "actions: allocate\ntiers: [{plugins: [{name: nodeorder, arguments: {podaffinity.weight: heavy}}]}]",
         '2:50: tiers[0].plugins[0].arguments.podaffinity.weight: expected a whole number, got "heavy"'),
    case("an action of Volcano's", "actions: enqueue, allocate",
         '1:1: actions: "enqueue" is Volcano\'s; it is not built here yet, leave it out'),
    case("a field of Volcano's", "actions: allocate\ntiers: [{plugins: [{name: gang, enablePreemptive: false}]}]",
         "2:33: tiers[0].plugins[0].enablePreemptive: \"enablePreemptive\" is Volcano's; "
         "it is not built here yet, leave it out"),
    case("no form of kube-batch's", "kind: Policy", "1:1: expected a configuration of kube-batch: "
         "`actions` with `tiers`, or with `plugins`"),
])  # fmt: skip
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    """With line, column, path, and what was probably meant."""
    assert complaints(text) == [f"b.yaml:{message}"]


def test_everything_wrong_is_named_at_once() -> None:
    """Nobody comes back for the next complaint."""
    text = "actions: alocate\nplugins: gong\nplugin.gung.jobready: true\nplugin.gang.jobreddy: true\nfoo: bar\n"

    assert len(complaints(text)) == 5


def test_rules_of_ones_own_may_be_named() -> None:
    """By module:Class, or by a name that somebody knows."""
    text = "actions: allocate\ntiers: [{plugins: [{name: 'mine:Rule', arguments: {any: 1}}, {name: fairer}]}]"
    found = read_batch(source.of_text(text), BatchProfile(), plugins=("fairer",)).configuration

    assert [plugin.name for plugin in found.plugins] == ["mine:Rule", "fairer"]


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_file_that_cannot_be_read_leaves_the_documented_map(tmp_path: Path) -> None:
    """And says so, whether it is not there or is a directory."""
    for name, why in (("none.yaml", "cannot be read: No such file or directory"), ("", "is a directory")):
        found = load_batch(BatchProfile(conf=str(tmp_path / name)), tmp_path, Complaints())

        assert found.configuration == documented(BatchProfile())
        assert why in found.warnings[0].message
        assert found.warnings[0].message.endswith("; kube-batch's default is in force instead")


def test_a_path_is_seen_from_the_folder(tmp_path: Path) -> None:
    """What the file says is in force; what is wrong with it is no reason to schedule by something else."""
    (tmp_path / "b.yaml").write_text(TIERS, encoding="utf-8")
    profile = BatchProfile(scheduler_name="teams", conf="b.yaml")

    assert load_batch(profile, tmp_path, Complaints()).configuration.form == "tiers"
    (tmp_path / "b.yaml").write_text("actions: [", encoding="utf-8")
    with pytest.raises(ConfigError, match="expected YAML"):
        load_batch(profile, tmp_path, Complaints())
