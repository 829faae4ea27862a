"""The contracts between the rooms name every room that exists.

Not here: whether they are kept; import-linter says so in `make lint`.
"""

import tomllib

from tests.architecture.files import ROOT

ROOMS = {path.parent.name for path in (ROOT / "src" / "bayplan").glob("*/__init__.py")}
LINTER = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
CONTRACTS = {contract["name"][0]: contract for contract in LINTER["contracts"]}

PURE = {"api", "cluster", "framework", "plugins", "core", "batch"}


def named(contract: str, key: str = "source_modules") -> set[str]:
    """Return the rooms that a contract names whole: `bayplan.room.*` would leave out what `__init__` does."""
    return {name.removeprefix("bayplan.") for name in CONTRACTS[contract][key]}


def test_pure_rooms_are_held_to_be_pure() -> None:
    """Every pure room that exists is in contract 2."""
    assert (PURE & ROOMS) - named("2") == set()


def test_only_commands_and_the_daemon_may_learn_of_rules() -> None:
    """Every room that must find rules by name is in contract 3."""
    assert ({"core", "batch", "config", "framework"} & ROOMS) - named("3") == set()


def test_rooms_that_talk_to_a_server_are_held_apart() -> None:
    """Each such room is in contract 5, with every room that it must not know."""
    assert ({"kube", "playground"} & ROOMS) - named("5") == set()
    assert ((PURE | {"config"}) - {"api"}) & ROOMS - named("5", "forbidden_modules") == set()


def test_other_rooms_are_held_to_do_without_numpy() -> None:
    """Every room that is not pure is in contract 6."""
    assert ROOMS - PURE - named("6") == set()
