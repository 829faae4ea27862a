"""Mutants: small changes drawn at random over core/ and cluster/, each tried against the tests and some histories.

`python -m tests.histories.mutants --n 20 --seed 1` copies the sources beside the tests, changes one place, and says
what noticed.  What survives is to be looked at: it changed nothing that matters, or a test is missing.
Not here: breaks that are chosen (broken.py).
"""

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from tests.architecture.files import ROOT

ROOMS: Final = ("core", "cluster")
TESTS: Final = ("tests/unit/core", "tests/unit/cluster", "tests/unit/sim")
SWAPPED: Final = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "is": "is not", "is not": "is",
                  "in": "not in", "not in": "in"}  # fmt: skip
SIGNS: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


class Mutant(NamedTuple):
    """One change of one file."""

    file: Path
    line: int
    before: str
    after: str
    begin: int  # in the file's text
    end: int


def mutants(file: Path) -> Iterator[Mutant]:
    """Return every change that may be made of a file."""
    text = file.read_text(encoding="utf-8")
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in ast.walk(ast.parse(text)):
        after = _changed(node)
        if after is None or not isinstance(node, ast.expr | ast.stmt) or node.end_lineno is None:
            continue
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + (node.end_col_offset or 0)
        yield Mutant(file, node.lineno, text[begin:end], after, begin, end)


def _changed(node: ast.AST) -> str | None:  # noqa: PLR0911 - a table of cases
    match node:
        case ast.Compare(ops=[sign]) if type(sign) in SIGNS:
            swapped = SWAPPED[SIGNS[type(sign)]]
            return f"{ast.unparse(node.left)} {swapped} {ast.unparse(node.comparators[0])}"
        case ast.BoolOp(op=ast.And()):
            return "(" + " or ".join(ast.unparse(value) for value in node.values) + ")"
        case ast.BoolOp(op=ast.Or()):
            return "(" + " and ".join(ast.unparse(value) for value in node.values) + ")"
        case ast.UnaryOp(op=ast.Not()):
            return ast.unparse(node.operand)
        case ast.AugAssign(op=ast.Add()):
            return f"{ast.unparse(node.target)} -= {ast.unparse(node.value)}"
        case ast.AugAssign(op=ast.Sub()):
            return f"{ast.unparse(node.target)} += {ast.unparse(node.value)}"
        case ast.Expr(value=ast.Call()):
            return "pass"
        case ast.Continue():
            return "break"
        case _:
            return None


def noticed(mutant: Mutant, histories: int) -> str:
    """Say what notices a mutant, if anything does."""
    with tempfile.TemporaryDirectory() as home:
        for name in ("src", "tests", "bench"):
            shutil.copytree(ROOT / name, Path(home) / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", home)
        place = Path(home) / mutant.file.relative_to(ROOT)
        text = place.read_text(encoding="utf-8")
        place.write_text(text[: mutant.begin] + mutant.after + text[mutant.end :], encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": f"{home}/src:{home}", "PYTHONDONTWRITEBYTECODE": "1"}
        tries = {
            "tests": ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *TESTS],
            "histories": ["-m", "tests.histories.run", "--n", str(histories), "--seed", "mutant", "--first"],
        }
        for name, arguments in tries.items():
            try:
                done = subprocess.run([sys.executable, *arguments], cwd=home, env=environment, check=False, timeout=900,
                                      capture_output=True, text=True)  # fmt: skip
            except subprocess.TimeoutExpired:
                return f"{name}: it did not end"
            if done.returncode:
                lines = [line for line in done.stdout.splitlines() if line.strip()]
                return f"{name}: {next((line for line in lines if 'FAILED' in line or 'failed' in line), 'an error')}"
    return ""


def main() -> int:
    """Draw mutants and try them."""
    parser = argparse.ArgumentParser(description="Try changes drawn at random.")
    parser.add_argument("--n", type=int, default=20)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--histories", type=int, default=2000)
    options = parser.parse_args()
    files = sorted(file for room in ROOMS for file in (ROOT / "src/bayplan" / room).rglob("*.py"))
    drawn = Random(options.seed).sample([one for file in files for one in mutants(file)], options.n)
    survived = 0
    for mutant in drawn:
        found = noticed(mutant, options.histories)
        survived += not found
        where = f"{mutant.file.relative_to(ROOT)}:{mutant.line}"
        print(f"{where}: {mutant.before!r} -> {mutant.after!r}: {found or 'SURVIVED'}", flush=True)
    print(f"mutants {options.n} survived {survived} seed {options.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
