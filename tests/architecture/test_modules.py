"""Every module says what it is, and none of its parts outgrows a reader's screen."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.files import name_of, project_files

MODULE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
NAMES_THAT_SAY_NOTHING = {"util", "utils", "common", "helper", "helpers", "misc"}

MODULES = project_files("*.py")
Function = ast.FunctionDef | ast.AsyncFunctionDef

each_module = pytest.mark.parametrize("path", MODULES, ids=name_of)


def functions(tree: ast.Module) -> Iterator[Function]:
    """Yield every function of a module, methods and inner ones too."""
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def length(function: Function) -> int:
    """Return how many lines a function takes beside its docstring."""
    first = function.body[0]
    words = (first.end_lineno or first.lineno) - first.lineno + 1 if ast.get_docstring(function) is not None else 0
    return (function.end_lineno or function.lineno) - function.lineno + 1 - words


@each_module
def test_a_module_says_what_it_is(path: Path) -> None:
    """A module opens with a docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))

    assert ast.get_docstring(tree), f"{name_of(path)}: say what it is, its invariant, and what it is not"


@each_module
def test_a_module_is_short(path: Path) -> None:
    """A module that outgrows its limit has more than one subject."""
    lines = path.read_text(encoding="utf-8").count("\n")

    assert lines <= MODULE_LINES_MAX, f"{name_of(path)}: {lines} lines; find its second subject and move it out"


@each_module
def test_a_function_is_short(path: Path) -> None:
    """A function that outgrows its limit has more than one step in it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))

    long = {f"{function.name} (line {function.lineno})": length(function) for function in functions(tree)}

    assert not {name: lines for name, lines in long.items() if lines > FUNCTION_LINES_MAX}


def test_a_module_is_named_after_its_subject() -> None:
    """A function lives with its noun, so no module is a drawer for the rest."""
    assert not [name_of(path) for path in MODULES if path.stem in NAMES_THAT_SAY_NOTHING]
