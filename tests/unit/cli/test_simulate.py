"""`bayplan simulate`: what it reads, what it prints and writes, and with which exit status it ends."""

import gzip
import os
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.kit import case
from tests.unit.cli.run import NODE, POD, Ran, manifests, run
from tests.unit.sim.test_formats import CLUSTER, WORKLOAD
from tests.unit.sim.test_traces import OPENB_NODES, OPENB_PODS, OURS, PHILLY

Golden = Callable[[str, str], None]

PACKED = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: nvidia.com/gpu, weight: 1}]}}
"""
BUSY = "timestamp,duration,num_gpus\n" + "".join(
    f"2017-10-09 07:{number // 60:02}:{number % 60:02},{600 + 37 * (number % 11)},{(1, 8, 4, 24, 2)[number % 5]}\n"
    for number in range(400)
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a file of each form."""
    for name, raw in {
        "cluster.yaml": CLUSTER, "workload.yaml": WORKLOAD, "nodes.csv": OPENB_NODES, "pods.csv": OPENB_PODS,
        "philly.csv.gz": gzip.compress(PHILLY), "jobs.csv": OURS, "busy.csv": BUSY.encode(),
        "packed.yaml": PACKED.encode(), "spread.yaml": PACKED.replace("Most", "Least").encode(),
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(raw)
    manifests(tmp_path, NODE, POD, name="manifests.yaml")
    return tmp_path


def simulate(folder: Path, *words: str | Path) -> Ran:
    """Run `bayplan simulate`; a word with a dot in it names a file of the folder."""
    return run("simulate", *(folder / word if "." in str(word) else word for word in words))


# --- what it reads ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "jobs", "placed"), [
    case("files of our own", ("cluster.yaml", "workload.yaml"), 55, 57),
    case("openb", ("nodes.csv", "pods.csv"), 3, 3),
    case("a packed Philly trace on its own cluster", ("philly.csv.gz",), 3, 4),
    case("a Philly trace on a cluster without GPUs", ("nodes.csv", "philly.csv.gz"), 3, 0),
    case("the first job alone", ("philly.csv.gz", "--jobs", "1"), 1, 1),
    case("manifests and jobs of our own", ("manifests.yaml", "jobs.csv"), 2, 1),
])  # fmt: skip
def test_each_form_is_told_by_its_content(folder: Path, words: tuple[str, ...], jobs: int, placed: int) -> None:
    """Whatever the files are called."""
    ran = simulate(folder, *words, "-o", "json")

    assert ran.status == 0
    assert [(one["jobs"], one["podsPlaced"]) for one in ran.json["runs"]] == [(jobs, placed)]


def test_pods_that_wait_in_manifests_are_passed_over_and_said(folder: Path) -> None:
    """What waits is the workload's to say."""
    assert "passed over: 1 waiting pod;" in simulate(folder, "manifests.yaml", "jobs.csv").err


@pytest.mark.parametrize(("words", "said"), [
    case("the wrong way round", ("pods.csv", "nodes.csv"), "nodes.csv: is openb's nodes, a cluster; the workload"),
    case("two workloads", ("pods.csv", "jobs.csv"), "pods.csv: is openb's pods, a workload; the cluster comes before"),
    case("no cluster", ("jobs.csv",), "jobs.csv: says nothing of a cluster; give one before it: CLUSTER WORKLOAD"),
    case("a third file", ("nodes.csv", "pods.csv", "jobs.csv"), "expected CLUSTER and WORKLOAD, got 3 files"),
    case("no file", ("nodes.csv", "gone.csv"), "gone.csv: cannot be read: No such file or directory"),
    case("manifests as a workload", ("nodes.csv", "manifests.yaml"),
         "manifests.yaml: is no workload: expected a Workload of bayplan.dev/v1alpha1, or CSV with these columns"),
    case("a configuration twice", ("philly.csv.gz", "--config", "packed.yaml", "--config", "packed.yaml"),
         "is given twice; there would be nothing to compare"),
    case("a page that cannot be written", ("philly.csv.gz", "--html", "gone.d/page.html"),
         "page.html: cannot be written: No such file or directory"),
])  # fmt: skip
def test_what_cannot_be_simulated_is_said(folder: Path, words: tuple[str, ...], said: str) -> None:
    """In a line, without a traceback, with exit status 1."""
    ran = simulate(folder, *words)

    assert ran.status == 1
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_what_is_wrong_in_a_file_is_named_with_line_and_field(folder: Path) -> None:
    """All of it, and nothing is simulated."""
    (folder / "bad.csv").write_bytes(OURS.replace(b"10,60", b"soon,long"))
    ran = simulate(folder, "cluster.yaml", "bad.csv")

    assert ran.status == 1
    assert ran.out == ""
    assert f'{folder / "bad.csv"}:2: at_s: expected a number of at least 0, got "soon"' in ran.err
    assert f'{folder / "bad.csv"}:2: run_s: expected a number of at least -1, got "long"' in ran.err


def test_what_is_refused_of_manifests_is_said_and_the_rest_is_used(folder: Path) -> None:
    """As `bayplan place` does it: exit status 2."""
    manifests(folder, NODE, NODE, name="twice.yaml")
    ran = simulate(folder, "twice.yaml", "jobs.csv", "-o", "json")

    assert ran.status == 2
    assert "refused: " in ran.err
    assert ran.json["runs"][0]["nodes"] == 1


def test_a_packed_file_that_is_broken_is_said(folder: Path) -> None:
    """Whatever the packer says of it."""
    (folder / "broken.csv.gz").write_bytes(gzip.compress(PHILLY)[:-12])

    assert "broken.csv.gz: cannot be unpacked: " in simulate(folder, "broken.csv.gz").err


# --- what it answers -------------------------------------------------------------------------------------------------


def test_the_table(folder: Path, golden: Golden) -> None:
    """Policies stand side by side, with the same jobs."""
    ran = simulate(folder, "busy.csv", "--config", "spread.yaml", "--config", "packed.yaml")

    assert ran.status == 0
    golden("simulate/table.txt", ran.out)


def test_the_same_seed_gives_the_same_answer_in_another_process(folder: Path) -> None:
    """Byte for byte, whatever the hash seed; another seed places elsewhere."""
    words = [
        sys.executable,
        "-c",
        "import bayplan.cli; bayplan.cli.main()",
        "simulate",
        "cluster.yaml",
        "workload.yaml",
    ]
    answers = []
    for hashes, seed in (("1", "4"), ("2", "4"), ("1", "5")):
        environment = {**os.environ, "PYTHONHASHSEED": hashes}
        page = f"page-{hashes}-{seed}.html"
        done = subprocess.run(
            [*words, "--seed", seed, "-o", "json", "--html", page], cwd=folder, env=environment, capture_output=True,
            check=True,
        )  # fmt: skip
        answers.append((done.stdout, (folder / page).read_bytes()))

    assert answers[0] == answers[1]
    assert answers[0] != answers[2]


def test_policies_meet_the_same_arrivals(folder: Path) -> None:
    """Only what a policy decides differs between the columns."""
    ran = simulate(folder, "busy.csv", "--config", "spread.yaml", "--config", "packed.yaml", "-o", "json")
    spread, packed = ran.json["runs"]

    assert (spread["policy"], packed["policy"]) == ("spread.yaml", "packed.yaml")
    assert (spread["jobs"], spread["pods"]) == (packed["jobs"], packed["pods"])
    assert spread["placements"] != packed["placements"]
    assert packed["nodesUsed"]["average"] < spread["nodesUsed"]["average"]


def test_a_rule_of_ones_own_is_asked(folder: Path) -> None:
    """A rule that lets nothing through leaves every pod waiting, and its text is the reason."""
    (folder / "rule.py").write_text(
        "import bayplan\nimport numpy as np\n\n\n@bayplan.filter(reason='closed on Sundays')\n"
        "def closed(pod, nodes):\n    return np.zeros(len(nodes), bool)\n",
        encoding="utf-8",
    )
    ran = simulate(folder, "philly.csv.gz", "--plugin", "rule.py", "-o", "json")

    assert [(one["text"], one["pods"], one["still"]) for one in ran.json["runs"][0]["reasons"]] == [
        ("closed on Sundays", 4, 4)
    ]


def test_a_rule_sees_the_fields_that_it_declares(folder: Path) -> None:
    """In the templates of a workload, too; nodes of a trace have none."""
    (folder / "rule.py").write_text(
        "import bayplan\nimport numpy as np\n\n\n"
        "@bayplan.filter(reason='not asked for', fields=('pod.metadata.annotations', 'node.status.nodeInfo'))\n"
        "def asked(pod, nodes):\n    return np.full(len(nodes), (pod.metadata.annotations or {}).get('go') == 'yes')\n",
        encoding="utf-8",
    )
    (folder / "noted.yaml").write_bytes(
        WORKLOAD.replace(b"{namespace: shop", b"{annotations: {go: 'yes'}, namespace: shop")
    )
    placed = [
        simulate(folder, "nodes.csv", name, "--plugin", "rule.py", "-o", "json").json["runs"][0]["podsPlaced"]
        for name in ("workload.yaml", "noted.yaml", "pods.csv")
    ]

    assert placed == [0, 57, 0]


def test_a_rule_that_breaks_ends_the_simulation_and_is_named(folder: Path) -> None:
    """Errors are tried again for ever, and a trace may last for months: who waits for its end learns nothing."""
    (folder / "rule.py").write_text(
        "import bayplan\n\n\n@bayplan.filter\ndef broken(pod, nodes):\n    raise KeyError('oh')\n", encoding="utf-8"
    )
    (folder / "long.csv").write_text("at_s,run_s\n0,1\n1,1\n100000000,1\n", encoding="utf-8")
    ran = simulate(folder, "cluster.yaml", "long.csv", "--plugin", "rule.py", "-o", "json")

    assert ran.status == 2
    assert "fault: default: given up after " in ran.err
    assert 'plugin "broken"' in ran.err
    assert ran.json["runs"][0]["lastedS"] < 1_000_000


class Page(HTMLParser):
    """What a page holds, and that every tag is closed."""

    EMPTY = frozenset({"meta", "line", "rect", "path"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in {"src", "href"}]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag that closes itself."""
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close the tag that was opened last."""
        assert self.open.pop() == tag


def test_the_page_needs_nothing_else(folder: Path) -> None:
    """One file: no link, no source, every tag closed; a plot of each resource, of waiting, of nodes, of reasons."""
    ran = simulate(folder, "busy.csv", "--config", "spread.yaml", "--config", "packed.yaml", "--html", "page.html")
    text = (folder / "page.html").read_text(encoding="utf-8")
    page = Page(text)

    assert ran.status == 0
    assert page.links == []
    assert "http" not in text
    assert page.open == []
    assert page.tags.count("svg") == 5
    assert re.findall(r"<figcaption>(.*?)<", text) == [
        "nvidia.com/gpu in use", "Pods waiting", "Nodes in use", "Time until a job starts", "Why pods were turned down",
    ]  # fmt: skip
    assert "prefers-color-scheme:dark" in text


def test_names_cannot_break_out_of_the_page(folder: Path) -> None:
    """Whatever a file is called, and whatever a resource is."""
    evil = "<script>alert(1)</script>"
    raw = OURS.decode().replace("example.com/fpga", f'"{evil}/x&amp"')
    (folder / "evil&<b>.csv").write_text(raw, encoding="utf-8")
    simulate(folder, "cluster.yaml", "evil&<b>.csv", "--html", "page.html")
    page = (folder / "page.html").read_text(encoding="utf-8")

    assert evil not in page
    assert "evil&amp;&lt;b&gt;.csv on cluster.yaml" in page


def test_the_help(golden: Golden) -> None:
    """Every option has its line."""
    golden("simulate/help.txt", run("simulate", "--help").out)
