"""Banks: columns refreshed together are what each would be alone, whatever a profile has its rules do."""

import pytest

from bayplan.cluster.reading import Reader
from bayplan.cluster.table import Table
from bayplan.config.decode import decode
from bayplan.config.profiles import profiles
from bayplan.framework.profile import Profile
from bayplan.framework.registry import Registry
from bayplan.framework.run import Rules
from bayplan.framework.settings import Settings
from tests.kit import a_cluster, a_pod, case, node

REGISTRY = Registry.installed()
TOGETHER = Settings(scalar_rows=0)
ALONE = Settings(plans=False)

FILTERS_ALONE = "multiPoint: {disabled: [{name: '*'}]}, filter: {enabled: [{name: NodeResourcesFit}]}"
SCORES_ALONE = """multiPoint: {disabled: [{name: '*'}]},
      score: {enabled: [{name: NodeResourcesFit}, {name: NodeResourcesBalancedAllocation}]}"""


def profile_with(plugins: str) -> Profile:
    """Return a profile whose plugins are set as a configuration says."""
    text = f"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - plugins: {{queueSort: {{enabled: [{{name: PrioritySort}}]}}, bind: {{enabled: [{{name: DefaultBinder}}]}},
      {plugins}}}
"""
    return next(iter(profiles(decode(text, REGISTRY).configuration, REGISTRY).values()))


def chosen(table: Table, profile: Profile, settings: Settings) -> list[tuple[int | None, int | None]]:
    """Place five sizes of pods in turn, so that each finds rows that the others changed."""
    rules = Rules(table, Reader(table), settings=settings)
    found: list[tuple[int | None, int | None]] = []
    for turn in range(40):
        pod = a_pod(f"p{turn}", cpu=f"{500 + 250 * (turn % 5)}m", memory=f"{1 + turn % 5}Gi")
        verdict = rules.ask(pod, profile)
        found.append((verdict.row, verdict.score))
        if verdict.row is not None:
            table.place(pod, verdict.row)
    return found


@pytest.mark.parametrize(
    "plugins",
    [
        case("as usual", ""),
        case("resources only filter", FILTERS_ALONE),
        case("resources only score", SCORES_ALONE),
    ],
)
def test_columns_refreshed_together_answer_as_rows_judged_afresh(plugins: str) -> None:
    """Forty placements of five sizes fall the same way, and what is full is full in both."""
    profile = profile_with(plugins)
    nodes = [node(f"n{number}", cpu=3 + number % 3, memory="16Gi") for number in range(8)]

    together = chosen(a_cluster(*nodes), profile, TOGETHER)
    afresh = chosen(a_cluster(*nodes), profile, ALONE)

    assert together == afresh
