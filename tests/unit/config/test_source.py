"""Whatever is given as a configuration, a tree comes out or a ConfigError."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from bayplan.config import source
from bayplan.config.complaints import ConfigError
from bayplan.config.decode import decode
from bayplan.framework.registry import Registry
from tests.unit.config.conftest import HEADER

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
)

PLAIN = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=9),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=9), inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.parametrize(("text", "message"), [
    ("", "is empty"),
    ("# nothing\n", "is empty"),
    ("[]", "expected a map"),
    ("word", "expected a map"),
    ("a: &a [*a]", "expected no cycle"),
    ("a: *b", "expected an anchor"),
    (BOMB, "expected aliases that unfold to at most"),
    ("[" * 10_000, "levels of nesting"),
    ("{a: " * 10_000, "levels of nesting"),
    ("a: 1\n---\nb: 1\n", "expected one document, got 2"),
    ("a: !!python/object:os.system x", "expected plain YAML"),
    ("a: \0", "expected YAML in UTF-8"),
    (b"\xff\xfe\x00", "expected YAML in UTF-8"),
    ("a: [1,\n", "expected YAML"),
    ("x" * (source.BYTES_MAX + 1), "is larger than 4 MiB"),
])  # fmt: skip
def test_hostile_texts(text: str | bytes, message: str) -> None:
    """A text that is no configuration, or is made to hurt, is refused by name."""
    with pytest.raises(ConfigError, match=message):
        source.of_text(text, "s.yaml")


def test_a_directory(tmp_path: Path) -> None:
    """A directory is not taken for a file."""
    with pytest.raises(ConfigError, match="is a directory; name the file"):
        source.of_file(tmp_path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A missing file is named."""
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot be read: No such file"):
        source.of_file(tmp_path / "none.yaml")


def test_a_huge_file(tmp_path: Path) -> None:
    """A file of 100 MB is refused without being read."""
    huge = tmp_path / "huge.yaml"
    with huge.open("wb") as file:
        file.truncate(100 * 10**6)

    with pytest.raises(ConfigError, match="is larger than 4 MiB"):
        source.of_file(huge)


def test_a_file_is_read(tmp_path: Path) -> None:
    """A file's places carry its name."""
    file = tmp_path / "s.yaml"
    file.write_text(HEADER)

    assert source.of_file(file).tree["kind"] == "KubeSchedulerConfiguration"


def test_a_map_that_contains_itself() -> None:
    """A cycle in a map ends in a complaint."""
    tree: dict[str, object] = {"kind": "x"}
    tree["again"] = tree

    with pytest.raises(ConfigError, match="levels of nesting, and no cycle"):
        source.of(tree)


@pytest.mark.parametrize("value", [{1: 2}, {"a": {1}}, {"a": object()}, {"a": float("nan")}])
def test_a_map_with_odd_values(value: dict[str, object]) -> None:
    """Only what JSON could hold is taken."""
    with pytest.raises(ConfigError, match="expected"):
        source.of(value)


@given(some.dictionaries(some.sampled_from(["profiles", "extenders", "leaderElection", "parallelism", "x"]), PLAIN))
def test_any_map_decodes_or_is_refused(fields: dict[str, object]) -> None:
    """No map raises anything but a ConfigError."""
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    with contextlib.suppress(ConfigError):
        decode(header | fields, Registry())


@given(some.text() | some.binary())
def test_any_text_decodes_or_is_refused(text: str | bytes) -> None:
    """No text raises anything but a ConfigError."""
    with contextlib.suppress(ConfigError):
        decode(text, Registry())
