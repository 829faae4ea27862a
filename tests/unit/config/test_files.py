"""A file is told apart by what is in it; our own settings hold the others."""

from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import inspect

from bayplan.config import source
from bayplan.config.complaints import ConfigError
from bayplan.config.files import Loaded, load, read, refuse_batches, refuse_extenders
from bayplan.config.kubescheduler import KubeSchedulerConfiguration
from bayplan.config.ours import BayplanConfiguration, BindPods, bind_limits
from bayplan.config.policy import Policy
from bayplan.config.profiles import profiles
from bayplan.config.shown import Flags, shown
from bayplan.config.yamltext import text
from bayplan.framework.plugin import NO_GATES
from bayplan.framework.registry import Registry
from tests.kit import case
from tests.unit.config.conftest import HEADER

OURS = "apiVersion: bayplan.dev/v1alpha1\nkind: BayplanConfiguration\n"


def written(folder: Path, text: str, name: str = "s.yaml") -> Path:
    """Write a file."""
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def ours(folder: Path, text: str, registry: Registry) -> Loaded:
    """Load settings of our own."""
    return load(written(folder, OURS + text), registry)


def complaints_of(folder: Path, text: str, registry: Registry) -> list[str]:
    """Return what is wrong with a file, without its folder."""
    with pytest.raises(ConfigError) as caught:
        load(written(folder, text), registry)
    return [str(complaint).replace(f"{folder}/", "") for complaint in caught.value.complaints]


@pytest.mark.parametrize(("text", "kind"), [
    (f"{HEADER}parallelism: 3", KubeSchedulerConfiguration),
    ("kind: Policy\napiVersion: v1\npredicates: [{name: PodFitsPorts}]", Policy),
    ('{"predicates": [], "priorities": []}', Policy),
    ("Priorities: []", Policy),
    ("apiVersion: bayplan.dev/v1alpha1\nkind: BayplanConfiguration", BayplanConfiguration),
])  # fmt: skip
def test_forms_are_told_apart_by_content(registry: Registry, tmp_path: Path, text: str, kind: type) -> None:
    """Whatever the file is called."""
    assert isinstance(load(written(tmp_path, text), registry).configuration, kind)


def test_places_carry_the_files_name(registry: Registry, tmp_path: Path) -> None:
    """A value's place is where it stands in the file."""
    found = load(written(tmp_path, f"{HEADER}parallelism: 3\n"), registry)

    assert isinstance(found.configuration, KubeSchedulerConfiguration)
    assert found.configuration.parallelism == 3
    assert found.place_of(("parallelism",)) == (3, 1)


@pytest.mark.parametrize(("data", "what"), [
    ("{}", "that has no data"),
    ("{a: '{}', b: '{}', c: '', d: ''}", "that has 4 files in its data (`a`, `b`, `c`); give the one that is meant"),
])  # fmt: skip
def test_a_config_map_must_hold_one_file(registry: Registry, tmp_path: Path, data: str, what: str) -> None:
    """Nobody guesses which of several is meant."""
    text = f"kind: ConfigMap\napiVersion: v1\ndata: {data}"

    assert complaints_of(tmp_path, text, registry) == [f"s.yaml:1:1: this is a ConfigMap {what}"]


def test_a_config_map_is_looked_into(registry: Registry, tmp_path: Path) -> None:
    """Lines are those of the text in it, which is named."""
    text = (
        "kind: ConfigMap\napiVersion: v1\nmetadata: {name: c}\ndata:\n  policy.cfg: |\n"
        '    {"kind": "Policy",\n     "predicates": [{"name": "PodFitsPorts"}]}\n'
    )

    assert isinstance(load(written(tmp_path, text), registry).configuration, Policy)
    assert complaints_of(tmp_path, text.replace("FitsPorts", "FitPorts"), registry) == [
        's.yaml (policy.cfg):2:18: predicates[0].name: unknown predicate "PodFitPorts"; did you mean "PodFitsPorts"?'
    ]


@pytest.mark.parametrize(("text", "complaint"), [
    case("a queue of another scheduler's", "partitions: [{name: default}]",
         "s.yaml:1:1: this is none of the forms that are read: a KubeSchedulerConfiguration, a Policy, "
         "a BayplanConfiguration, or kube-batch's `actions` with `tiers` or `plugins`"),
    case("OpenShift's object", "apiVersion: config.openshift.io/v1\nkind: Scheduler",
         's.yaml:2:1: kind: unknown kind "Scheduler"; OpenShift\'s names a ConfigMap as its spec.policy: give that'),
    case("kubeadm's file", "apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration",
         's.yaml:2:1: kind: unknown kind "ClusterConfiguration"; '
         "kubeadm's names the file as scheduler.extraArgs.config: give that"),
    case("tabs", "kind: Policy\npredicates:\n\t- name: HostName",
         "s.yaml:3:1: expected YAML: while scanning for the next token: found character that cannot start any token; "
         "there is a tab, and YAML is indented with spaces"),
])  # fmt: skip
def test_what_people_give_by_mistake_is_called_what_it_is(
    registry: Registry, tmp_path: Path, text: str, complaint: str
) -> None:
    """With what to give instead."""
    assert complaints_of(tmp_path, text, registry) == [complaint]


@pytest.mark.parametrize(("text", "form"), [
    ('actions: "allocate, backfill"\ntiers: [{plugins: [{name: gang}]}]', "tiers"),
    ('actions: "allocate"\nplugins: "gang"\nplugin.gang.jobready: "true"', "flat"),
    ('plugin.gang.jobready: "true"', "flat"),
    ("kind: ConfigMap\ndata:\n  kb.conf: |\n    actions: allocate\n    tiers: [{plugins: [{name: gang}]}]", "tiers"),
    ("apiVersion: v1\nkind: ConfigMap\ndata: {actions: allocate}", "flat"),
])  # fmt: skip
def test_kube_batchs_files_are_settings_with_one_batch_profile(
    registry: Registry, tmp_path: Path, text: str, form: str
) -> None:
    """It has kube-batch's name; other pods are scheduled as without a file."""
    found = load(written(tmp_path, text), registry)

    assert [batch.configuration.form for batch in found.batches] == [form]
    assert [batch.configuration.scheduler_name for batch in found.batches] == ["kube-batch"]
    assert profiles(found.configuration, registry).keys() == {"default-scheduler"}


def test_batch_profiles_are_read_with_what_they_name(registry: Registry, tmp_path: Path) -> None:
    """A file as seen from the settings, an inline map, or nothing."""
    written(tmp_path, "actions: allocate\ntiers: [{plugins: [{name: gang}]}]", "b.yaml")
    found = ours(
        tmp_path,
        "batch:\n- {schedulerName: a, conf: b.yaml, behaviour: kube-batch, period: 2s, defaultQueue: q}\n"
        "- {schedulerName: b, conf: {actions: preempt}, namespaceAsQueue: false}\n- {schedulerName: c}\n",
        registry,
    )
    first, second, third = (batch.configuration for batch in found.batches)

    assert (first.form, first.behaviour, first.default_queue, str(first.period)) == ("tiers", "kube-batch", "q", "2s")
    assert (second.actions, second.namespace_as_queue) == (("preempt",), False)
    assert third.actions == ("reclaim", "allocate", "preempt")


def test_a_batch_profile_goes_before_a_default(registry: Registry, tmp_path: Path) -> None:
    """Nobody's pods are scheduled twice."""
    found = ours(tmp_path, "batch: [{schedulerName: default-scheduler}]", registry)

    assert profiles(found.configuration, registry) == {}


def test_what_is_odd_about_a_batch_profile_is_said(registry: Registry, tmp_path: Path) -> None:
    """With its place, in whichever file that is."""
    written(tmp_path, "plugins: gang\n", "b.yaml")
    found = ours(
        tmp_path,
        "batch:\n- {schedulerName: a, conf: b.yaml}\n- {schedulerName: b, conf: {plugins: gang}}\n"
        "- {schedulerName: c, conf: none.yaml}\n",
        registry,
    )

    assert [str(warning).replace(f"{tmp_path}/", "").split(";")[0] for warning in found.warnings] == [
        "b.yaml:1:1: plugins: no switch of gang is on, and absent ones are off",
        "s.yaml:5:29: batch[1].conf.plugins: no switch of gang is on, and absent ones are off",
        "none.yaml: cannot be read: No such file or directory",
    ]


def test_batch_profiles_are_refused_by_name_where_they_would_be_run(registry: Registry, tmp_path: Path) -> None:
    """They are decoded all the same."""
    for settings in ("actions: allocate", f"{OURS}batch: [{{schedulerName: kube-batch}}]"):
        with pytest.raises(ConfigError, match='pods of "kube-batch" are scheduled in sessions'):
            refuse_batches(load(written(tmp_path, settings), registry))


def test_an_unknown_kind_is_answered_with_the_nearest(registry: Registry, tmp_path: Path) -> None:
    """Of the three that are read."""
    assert complaints_of(tmp_path, "kind: Polcy", registry) == [
        's.yaml:1:1: kind: unknown kind "Polcy"; did you mean "Policy"?'
    ]


# --- our own settings ------------------------------------------------------------------------------------------------


def test_everything_of_ours_is_optional(registry: Registry, tmp_path: Path) -> None:
    """Nothing but the header is the defaults."""
    found = ours(tmp_path, "", registry)

    assert found.configuration == BayplanConfiguration()
    assert profiles(found.configuration, registry).keys() == {"default-scheduler"}
    assert found.extenders == ()


def test_every_field_of_ours(registry: Registry, tmp_path: Path) -> None:
    """Each is kept."""
    written(tmp_path, "import bayplan\n@bayplan.filter\ndef dry(pod, nodes): return nodes.live\n", "rules.py")
    found = ours(
        tmp_path,
        "kubeScheduler: {parallelism: 3}\n"
        "batch: [{schedulerName: b, conf: c.yaml, behaviour: kube-batch, period: 2s, defaultQueue: q,"
        " namespaceAsQueue: true}]\n"
        "bindPods: {qps: 2.5, burst: 3}\n"
        "budgets: {planBytes: 1000, planBytesPerNode: 2, rowsPerStep: 64}\n"
        "plugins: [rules.py]\n",
        registry,
    ).configuration

    assert isinstance(found, BayplanConfiguration)
    assert isinstance(found.scheduling, KubeSchedulerConfiguration)
    assert found.scheduling.parallelism == 3
    assert (found.batch[0].scheduler_name, found.batch[0].conf, found.batch[0].behaviour) == (
        "b",
        "c.yaml",
        "kube-batch",
    )
    assert (found.batch[0].default_queue, found.batch[0].namespace_as_queue) == ("q", True)
    assert found.bind_pods == BindPods(qps=2.5, burst=3)
    assert (found.settings.bytes_base, found.settings.bytes_per_row, found.settings.block) == (1000, 2, 64)
    assert "dry" in [one.name for one in profiles(found, registry)["default-scheduler"].filter]


@pytest.mark.parametrize(("inner", "kind"), [
    (f"{HEADER}parallelism: 3\n", KubeSchedulerConfiguration), ("priorities: []\n", Policy)])  # fmt: skip
def test_kube_schedulers_part_may_be_a_file(registry: Registry, tmp_path: Path, inner: str, kind: type) -> None:
    """Its path is as seen from the settings."""
    (tmp_path / "there").mkdir()
    written(tmp_path / "there", inner, "k.yaml")
    found = ours(tmp_path, "kubeScheduler: there/k.yaml", registry)

    assert isinstance(found.configuration, BayplanConfiguration)
    assert isinstance(found.configuration.scheduling, kind)
    assert found.inner is not None
    assert found.inner.file.endswith("k.yaml")


def test_kube_schedulers_part_may_be_an_inline_policy(registry: Registry, tmp_path: Path) -> None:
    """It is told apart there, too."""
    found = ours(tmp_path, "kubeScheduler: {kind: Policy, priorities: []}", registry).configuration

    assert isinstance(found, BayplanConfiguration)
    assert found.scheduling == Policy(priorities=())


def test_binding_is_as_fast_as_it_was_under_a_policy() -> None:
    """15 a second and 20 at once; without one, as fast as can be."""
    assert bind_limits(BindPods(), Policy()) == BindPods(qps=15.0, burst=20)
    assert bind_limits(BindPods(), None) == BindPods(qps=0.0, burst=0)
    assert bind_limits(BindPods(qps=3.0), Policy()) == BindPods(qps=3.0, burst=20)


@pytest.mark.parametrize(("text", "complaint"), [
    case("a slip", "bindPod: {}", 's.yaml:3:1: bindPod: unknown field "bindPod"; did you mean "bindPods"?'),
    case("inside the inline part", "kubeScheduler:\n  paralelism: 3",
         's.yaml:4:3: kubeScheduler.paralelism: unknown field "paralelism"; did you mean "parallelism"?'),
    case("inside an inline Policy", "kubeScheduler:\n  priorities: [{name: x, weight: 0}]",
         "s.yaml:4:26: kubeScheduler.priorities[0].weight: must be greater than 0, not 0"),
    case("a part of another type", "kubeScheduler: 7", "s.yaml:3:1: kubeScheduler: expected a path or a map, got 7"),
    case("ours within ours", "kubeScheduler: {apiVersion: bayplan.dev/v1alpha1, kind: BayplanConfiguration}",
         "s.yaml:3:1: kubeScheduler: expected a KubeSchedulerConfiguration or a Policy, got a BayplanConfiguration"),
    case("a file that is not there", "kubeScheduler: no.yaml", "no.yaml: cannot be read: No such file or directory"),
    case("an unknown behaviour", "batch: [{schedulerName: b, behaviour: volcano}]",
         's.yaml:3:28: batch[0].behaviour: unknown value "volcano"; known here: bayplan, kube-batch'),
    case("a batch profile without a name", "batch: [{}]", "s.yaml:3:9: batch[0].schedulerName: is required"),
    case("two batch profiles of one name", "batch: [{schedulerName: b}, {schedulerName: b}]",
         's.yaml:3:30: batch[1].schedulerName: "b" is taken by batch[0]; each needs its own'),
    case("a name that is taken", "kubeScheduler: {profiles: [{schedulerName: b}]}\nbatch: [{schedulerName: b}]",
         's.yaml:4:10: batch[0].schedulerName: "b" is taken by kubeScheduler.profiles[0]; each needs its own'),
    case("a name that a Policy has", "kubeScheduler: {priorities: []}\nbatch: [{schedulerName: default-scheduler}]",
         's.yaml:4:10: batch[0].schedulerName: "default-scheduler" is taken by the Policy; each needs its own'),
    case("a pause of no length", "batch: [{schedulerName: b, period: 0s}]",
         "s.yaml:3:28: batch[0].period: must be longer than 0, not 0s"),
    case("inside an inline batch configuration", "batch:\n- schedulerName: b\n  conf:\n    actions: alocate",
         's.yaml:6:5: batch[0].conf.actions: unknown action "alocate"; did you mean "allocate"?'),
    case("a batch configuration that is a list", "batch: [{schedulerName: b, conf: []}]",
         "s.yaml:3:28: batch[0].conf: expected a path or a map, got a list"),
    case("a batch configuration that is another form", "batch: [{schedulerName: b, conf: {kind: Policy}}]",
         "s.yaml:3:28: batch[0].conf: expected a configuration of kube-batch: `actions` with `tiers`, or with"),
    case("a negative rate", "bindPods: {qps: -1}",
         "s.yaml:3:12: bindPods.qps: expected a number of at least 0, got -1"),
    case("a rate without a burst", "bindPods: {qps: 1, burst: 0}",
         "s.yaml:3:20: bindPods.burst: must be at least 1 where qps is limited"),
    case("a rule that is not there", "plugins: [no.py]", "s.yaml:3:11: plugins[0]: plugin no ("),
    case("a rule without a name", "plugins: ['']", "s.yaml:3:11: plugins[0]: expected module:Class or the path"),
])  # fmt: skip
def test_what_is_refused_of_ours(registry: Registry, tmp_path: Path, text: str, complaint: str) -> None:
    """With its place, wherever it stands."""
    found = complaints_of(tmp_path, OURS + text, registry)

    assert any(one.startswith(complaint) for one in found), found


def test_the_version_of_ours_is_one(registry: Registry, tmp_path: Path) -> None:
    """A later one is not guessed at."""
    found = complaints_of(tmp_path, OURS.replace("v1alpha1", "v1"), registry)

    assert found == [
        (
            's.yaml:1:1: apiVersion: expected "bayplan.dev/v1alpha1", got "bayplan.dev/v1"; '
            'did you mean "bayplan.dev/v1alpha1"?'
        )
    ]


# --- extenders -------------------------------------------------------------------------------------------------------

EXTENDER = "extenders: [{urlPrefix: 'https://x/', filterVerb: f}]\n"


@pytest.mark.parametrize(
    "text", [HEADER + EXTENDER, f"kind: Policy\n{EXTENDER}", f"{OURS}kubeScheduler: {{{EXTENDER.strip()}}}"]
)
def test_extenders_are_refused_by_name_where_they_would_be_asked(registry: Registry, tmp_path: Path, text: str) -> None:
    """They are decoded all the same."""
    found = load(written(tmp_path, text), registry)

    assert found.extenders[0].url_prefix == "https://x/"
    with pytest.raises(ConfigError, match=r'extenders\[0\]: the extender "https://x/" would have to be asked'):
        refuse_extenders(found)


def test_without_extenders_nothing_is_refused(registry: Registry, tmp_path: Path) -> None:
    """There is nobody to ask."""
    refuse_extenders(load(written(tmp_path, HEADER), registry))
    refuse_extenders(ours(tmp_path, "", registry))


def test_a_large_file_is_not_read(registry: Registry, tmp_path: Path) -> None:
    """A hundred megabytes are refused by their size."""
    file = tmp_path / "large.yaml"
    with file.open("wb") as out:
        out.truncate(100 << 20)

    with pytest.raises(ConfigError, match="is larger than 4 MiB"):
        load(file, registry)


# --- whatever is given -----------------------------------------------------------------------------------------------

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["*", "5s", "a"])
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def of_struct(struct: type[msgspec.Struct], depth: int = 4) -> st.SearchStrategy[object]:
    """Draw trees that look like a struct, with anything at all where a value should be."""
    if depth == 0:
        return TREES
    fields = {}
    for field in inspect.type_info(struct).fields:  # type: ignore[attr-defined]  # a struct's
        fields[field.encode_name] = of_type(field.type, depth - 1) | TREES
    return st.fixed_dictionaries({}, optional=fields)


def of_type(kind: inspect.Type, depth: int) -> st.SearchStrategy[object]:
    """Draw trees that look like a type."""
    if isinstance(kind, inspect.Metadata):
        return of_type(kind.type, depth)
    if isinstance(kind, inspect.UnionType):
        return st.one_of([of_type(one, depth) for one in kind.types])
    if isinstance(kind, inspect.VarTupleType):
        return st.lists(of_type(kind.item_type, depth), max_size=2)
    if isinstance(kind, inspect.StructType):
        return of_struct(kind.cls, depth)
    return SCALARS


@pytest.mark.parametrize("form", [KubeSchedulerConfiguration, Policy, BayplanConfiguration])
def test_whatever_is_given_there_is_a_configuration_or_complaints(
    installed: Registry, form: type[msgspec.Struct]
) -> None:
    """And nothing else."""
    header = msgspec.to_builtins(form(), enc_hook=str)

    @given(tree=of_struct(form))
    def ask(tree: object) -> None:
        assert isinstance(tree, dict)
        whole = {**tree, "kind": header["kind"], "apiVersion": header["apiVersion"]}
        with suppress(ConfigError):
            assert text(shown(read(source.of_map(whole), installed, NO_GATES), installed, NO_GATES, Flags()))

    ask()
