"""House rule 10: no function past 20 branches."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(path for name in ("artist", "netmodels", "scripts") for path in (ROOT / name).rglob("*.py"))
MAX_BRANCHES = 20
ONE = ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.match_case
FUNCTION = ast.FunctionDef, ast.AsyncFunctionDef


def branches(function: ast.AST) -> int:
    """Return the ways through a function: 1, and 1 more for each decision, functions inside it included.

    Decisions are if, for, while, except, case, conditional expressions, loops and conditions of
    comprehensions, and operands of and/or beyond the first.
    """
    count = 1
    for node in ast.walk(function):
        if isinstance(node, ONE):
            count += 1
        elif isinstance(node, ast.BoolOp):
            count += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            count += 1 + len(node.ifs)
    return count


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Yield name and branches of each function of a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, FUNCTION):
            yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", branches(node)


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("pass", 1),
        ("if a and b or c: pass\nelif d: pass\nelse: pass", 5),
        ("return [x for x in y for z in x if z if x]", 5),
        ("for x in y:\n  while x: pass\nelse: pass", 3),
        ("try: pass\nexcept A: pass\nexcept B: pass\nreturn 1 if x else 2", 4),
        ("match x:\n  case 1: pass\n  case _: pass", 3),
        ("def g():\n  if y: pass", 2),
    ],
)
def test_each_decision_counts_once(body: str, count: int) -> None:
    """1, and if, elif, and, or; a loop and a condition; handlers; cases; functions inside."""
    lines = "\n".join(f"  {line}" for line in body.splitlines())
    assert branches(ast.parse(f"def f():\n{lines}").body[0]) == count


def test_no_function_has_more_than_20_branches() -> None:
    """A function beyond that is several, to be split and named."""
    many = {name: count for path in SOURCES for name, count in functions(path) if count > MAX_BRANCHES}
    assert not many, many
