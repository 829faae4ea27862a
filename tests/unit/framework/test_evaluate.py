"""An evaluation remembers nothing and keeps nobody alive."""

import gc
import weakref

from bayplan.cluster.reading import Reader
from bayplan.config.profiles import profiles
from bayplan.framework.evaluate import Attempt
from bayplan.framework.registry import Registry
from tests.kit import a_cluster, a_pod, node

USUAL = profiles(None, Registry.installed())["default-scheduler"]


def test_an_answer_goes_when_nobody_wants_it_any_more() -> None:
    """It holds columns of all rows, so it must not wait for the collector of cycles."""
    table = a_cluster(node("a"), node("b"))
    pod = a_pod(cpu=64)
    gc.collect()
    gc.disable()
    try:
        evaluation = Attempt(table, USUAL, pod, Reader(table).shape(pod)).evaluate()
        assert evaluation.message() == "0/2 nodes are available: 2 Insufficient cpu."
        answer = weakref.ref(evaluation)
        del evaluation
        assert answer() is None
    finally:
        gc.enable()
