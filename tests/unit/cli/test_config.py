"""`bayplan config`: every complaint with its place, what is in force, and old files in today's form."""

from pathlib import Path

import msgspec
import pytest

from tests.kit import case
from tests.unit.cli.run import NODE, POD, Ran, manifests, place, placed, run

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
SCORES = f"{HEADER}profiles: [{{plugins: {{score: {{enabled: [%s]}}}}}}]"
POLICIES = Path(__file__).parents[1] / "config" / "policies"
BOMB = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10))


def check(folder: Path, text: str) -> Ran:
    """Check a text."""
    file = folder / "s.yaml"
    file.write_text(text, encoding="utf-8")
    return run("config", "check", file)


# --- check -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "complaint"), [
    case("a typo", f"{HEADER}paralelism: 3",
         's.yaml:3:1: paralelism: unknown field "paralelism"; did you mean "parallelism"?'),
    case("a duplicate key", f"{HEADER}parallelism: 3\nparallelism: 4", "s.yaml:4:1: parallelism: "),
    case("a wrong type", f"{HEADER}parallelism: many",
         's.yaml:3:1: parallelism: expected an integer, got the text "many"'),
    case("a negative weight", SCORES % "{name: ImageLocality, weight: -1}",
         "s.yaml:3:63: profiles[0].plugins.score.enabled[0].weight: expected a weight of 1 or more, got -1"),
    case("two profiles of one name", f"{HEADER}profiles:\n- {{schedulerName: a}}\n- {{schedulerName: a}}",
         's.yaml:5:4: profiles[1].schedulerName: "a" is taken by profiles[0]; each needs its own'),
    case("different queue sorts", f"{HEADER}profiles:\n- {{schedulerName: a}}\n"
         "- {schedulerName: b, plugins: {queueSort: {enabled: [{name: PrioritySort}]}}}",
         "s.yaml:5:32: profiles[1].plugins.queueSort: must be the same in all profiles: they share one queue"),
    case("a plugin enabled twice", SCORES % "{name: ImageLocality}, {name: ImageLocality}",
         "s.yaml:3:64: profiles[0].plugins.score.enabled[1]: ImageLocality is enabled twice at score"),
    case("an unknown plugin", SCORES % "{name: ImageLocalty}",
         's.yaml:3:42: profiles[0].plugins.score.enabled[0].name: unknown plugin "ImageLocalty";'
         ' did you mean "ImageLocality"?'),
    case("arguments of a plugin that takes none",
         HEADER + "profiles: [{pluginConfig: [{name: NodeName, args: {a: 1}}]}]",
         "s.yaml:3:45: profiles[0].pluginConfig[0].args: NodeName takes no arguments; leave `args` out"),
    case("an alias bomb", HEADER + BOMB, "s.yaml:"),
    case("nothing", "", "s.yaml: is empty; expected a map with apiVersion and kind"),
    case("no YAML", "{", "s.yaml:2:1: expected YAML"),
    case("a list", "[]", "s.yaml:1:1: expected a map with apiVersion and kind"),
])  # fmt: skip
def test_bad_input_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    """File, line, column, field, and what was probably meant; the exit status says that something is wrong."""
    ran = check(tmp_path, text)

    assert ran.status == 2
    assert any(line.replace(f"{tmp_path}/", "").startswith(complaint) for line in ran.out.splitlines()), ran.out
    assert ran.err == ""


def test_an_alias_bomb_does_not_go_off(tmp_path: Path) -> None:
    """It is refused for what it would unfold to."""
    assert "alias" in check(tmp_path, HEADER + BOMB).out


def test_a_file_of_a_hundred_megabytes(tmp_path: Path) -> None:
    """It is refused by its size."""
    file = tmp_path / "large.yaml"
    with file.open("wb") as out:
        out.truncate(100 << 20)
    ran = run("config", "check", file)

    assert ran.status == 2
    assert "is larger than 4 MiB" in ran.out


def test_a_directory_and_a_file_that_is_not_there(tmp_path: Path) -> None:
    """Both are said."""
    assert run("config", "check", tmp_path).out == f"{tmp_path}: is a directory; name the file in it that is meant\n"
    assert run("config", "check", tmp_path / "no").out.endswith("/no: cannot be read: No such file or directory\n")


def test_all_complaints_come_at_once(tmp_path: Path) -> None:
    """In the order in which they stand."""
    lines = check(tmp_path, f"{HEADER}paralelism: 3\nprofile: []\npodMaxBackoffSeconds: -1\n").out.splitlines()

    assert [line.partition("s.yaml:")[2].partition(":")[0] for line in lines] == ["3", "4", "5"]


def test_a_rule_that_cannot_be_made_is_a_complaint(tmp_path: Path) -> None:
    """With the line that names it."""
    (tmp_path / "rule.py").write_text(
        "import bayplan\nclass Sour(bayplan.Plugin):\n"
        "    def __init__(self, *given, **more): raise RuntimeError('no')\n"
        "    def score(self, state, view, feasible): ...\n"
    )
    file = tmp_path / "s.yaml"
    file.write_text(f"{HEADER}profiles:\n- plugins:\n    score:\n      enabled: [{{name: Sour}}]\n")
    ran = run("config", "check", file, "--plugin", tmp_path / "rule.py")

    assert ran.status == 2
    assert ":6:17: profiles[0].plugins.score.enabled[0]: plugin Sour" in ran.out


@pytest.mark.parametrize(("text", "kind"), [
    (f"{HEADER}profiles: [{{schedulerName: a}}, {{schedulerName: b}}]",
     "a KubeSchedulerConfiguration (profiles: a, b)"),
    ("kind: Policy", "a Policy, as Kubernetes read it up to 1.22"),
    ("apiVersion: bayplan.dev/v1alpha1\nkind: BayplanConfiguration", "a BayplanConfiguration"),
])  # fmt: skip
def test_a_good_file_is_called_what_it_is(tmp_path: Path, text: str, kind: str) -> None:
    """And the exit status is nought."""
    ran = check(tmp_path, text)

    assert (ran.status, ran.err) == (0, "")
    assert ran.out == f"{tmp_path}/s.yaml: {kind}, nothing is wrong with it\n"


def test_warnings_go_to_standard_error(tmp_path: Path) -> None:
    """They change no exit status."""
    ran = check(tmp_path, HEADER.replace("/v1", "/v1beta3"))

    assert ran.status == 0
    assert "is read as kubescheduler.config.k8s.io/v1: since then" in ran.err


# --- show ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["kubernetes-1.0.json", "kubernetes-1.13.yaml"])
def test_what_is_shown_of_a_file_is_a_file_that_shows_the_same(tmp_path: Path, name: str) -> None:
    """Where values come from is another file then, the values are the same."""
    once = run("config", "show", POLICIES / name)
    file = tmp_path / "shown.yaml"
    file.write_text(once.out)
    again = run("config", "show", file)

    assert once.status == again.status == 0
    assert msgspec.yaml.decode(once.out) == msgspec.yaml.decode(again.out)
    assert run("config", "show", "--values", POLICIES / name).out == run("config", "show", "--values", file).out
    assert f"# {file}:" in again.out


def test_the_defaults_are_shown_without_a_file() -> None:
    """Or what an algorithm provider asks for."""
    defaults = run("config", "show").out
    provided = run("config", "show", "--algorithm-provider", "ClusterAutoscalerProvider").out

    assert "name: NodeDeclaredFeatures" in defaults
    assert "name: MostRequestedPriority" in provided
    assert "# flag --algorithm-provider ClusterAutoscalerProvider" in provided


@pytest.mark.parametrize(("words", "problem"), [
    (("show", "{file}", "--algorithm-provider", "DefaultProvider"), "give a file or --algorithm-provider, not both"),
    (("show", "{file}"), "is empty"),
    (("show", "--feature-gates", "No=true"), "unknown feature gate"),
    (("show", "--plugin", "{file}"), "expected a Python file"),
    (("convert", "{file}", "--to", "kubescheduler"), "is empty"),
    (("convert", "{ours}", "--to", "kubescheduler"), "has no kubeScheduler to convert"),
    (("convert", "{file}", "--to", "volcano"), "Invalid value for '--to'"),
])  # fmt: skip
def test_what_cannot_be_done_is_said(tmp_path: Path, words: tuple[str, ...], problem: str) -> None:
    """On standard error, with exit status 1."""
    file, ours = tmp_path / "e.yaml", tmp_path / "o.yaml"
    file.write_text("")
    ours.write_text("apiVersion: bayplan.dev/v1alpha1\nkind: BayplanConfiguration\n")
    ran = run("config", *(word.format(file=file, ours=ours) for word in words))

    assert (ran.status, ran.out) == (1, "")
    assert problem in " ".join(ran.err.split())


# --- convert ---------------------------------------------------------------------------------------------------------


def test_a_policy_in_todays_form(tmp_path: Path) -> None:
    """What cannot be said there is on top, and the rest is a configuration that is right."""
    ran = run("config", "convert", POLICIES / "kubernetes-1.13.yaml", "--to", "kubescheduler")
    file = tmp_path / "s.yaml"
    file.write_text(ran.out)

    assert ran.out.startswith("# What cannot be said here:\n# - predicate OneRegion (serviceAffinity)")
    assert run("config", "check", file).status == 0


def test_an_older_version_in_todays_form(tmp_path: Path) -> None:
    """What is today's form already stays as it is."""
    file = tmp_path / "s.yaml"
    file.write_text(f"{HEADER.replace('/v1', '/v1beta3')}parallelism: 3\n")

    assert run("config", "convert", file, "--to", "kubescheduler").out == f"{HEADER}parallelism: 3\n"


def test_what_an_older_version_says_otherwise_is_said_as_today(tmp_path: Path) -> None:
    """Without the addresses that it had, and with its strategy."""
    file, again = tmp_path / "s.yaml", tmp_path / "again.yaml"
    file.write_text(
        HEADER.replace("/v1", "/v1beta1")
        + "healthzBindAddress: x\nprofiles: [{plugins: {score: {disabled: [{name: NodeResourcesLeastAllocated}],"
        " enabled: [{name: NodeResourcesMostAllocated, weight: 5}]}}}]\n"
    )
    again.write_text(run("config", "convert", file, "--to", "kubescheduler").out)

    assert run("config", "check", again).status == 0
    assert "type: MostAllocated" in again.read_text()


# --- place -----------------------------------------------------------------------------------------------------------


def test_place_takes_every_form(tmp_path: Path) -> None:
    """A Policy, settings of our own, and an algorithm provider."""
    file = manifests(tmp_path, NODE, POD)
    settings = tmp_path / "ours.yaml"
    settings.write_text(
        "apiVersion: bayplan.dev/v1alpha1\nkind: BayplanConfiguration\nkubeScheduler: {priorities: []}\n"
    )
    by_settings = place("-f", file, "-o", "json", "--config", settings)
    by_provider = place("-f", file, "-o", "json", "--algorithm-provider", "DefaultProvider")

    assert placed(by_settings) == placed(by_provider) == {"shop/web": "one"}
    assert by_settings.json["decisions"][0]["score"] == 10
    assert by_provider.json["decisions"][0]["score"] > 1_000_000
    assert "not both" in place("-f", file, "--config", settings, "--algorithm-provider", "DefaultProvider").err


def test_place_refuses_extenders_by_name(tmp_path: Path) -> None:
    """A file with an extender added is right, and is shown; nothing is placed with it."""
    file = tmp_path / "policy.yaml"
    extender = (
        "extenders:\n- {urlPrefix: 'http://there/', filterVerb: filter, enableHttps: false, httpTimeout: 5000000000}\n"
    )
    file.write_text((POLICIES / "kubernetes-1.13.yaml").read_text() + extender)
    ran = place("-f", manifests(tmp_path, NODE, POD), "--config", file)

    assert run("config", "check", file).status == 0
    assert 'urlPrefix: "http://there/"' in run("config", "show", file).out
    assert 'httpTimeout: "5s"' in run("config", "show", file).out
    assert (ran.status, ran.out) == (1, "")
    assert 'extenders[0]: the extender "http://there/" would have to be asked' in ran.err
