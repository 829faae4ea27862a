"""Commands that place pods take the same options for the rules to place them by."""

import click
import pytest

from bayplan.cli.config import config
from bayplan.cli.place import place
from bayplan.cli.run import run
from bayplan.cli.simulate import simulate

RULES = {"feature_gates", "plugins"}
ALL = {*RULES, "config", "algorithm_provider", "seed"}


@pytest.mark.parametrize(("command", "names"), [
    (place, ALL), (run, ALL), (config.commands["check"], RULES), (config.commands["convert"], RULES),
    (config.commands["show"], {*RULES, "algorithm_provider"}), (simulate, {"plugins"}),
])  # fmt: skip
def test_an_option_says_the_same_everywhere(command: click.Command, names: set[str]) -> None:
    """With the same words and the same default."""
    mine = {option.name: option for option in command.params if option.name in names}
    theirs = {option.name: option for option in place.params}

    assert mine.keys() == names
    for name, option in mine.items():
        assert option.to_info_dict() == theirs[name].to_info_dict()
