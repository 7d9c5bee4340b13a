"""No policy iterates over a set: its order may differ from run to run, and with it a schedule."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "artist" / "policies"
_UNORDERED = ("any", "all", "min", "max", "sum", "sorted", "set", "frozenset", "len")


def sets_iterated(code: str) -> list[str]:
    """Return the sets that loops and comprehensions of a module go through, unless order cannot matter."""
    tree = ast.parse(code)
    declared = {
        ast.unparse(node.target)
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation).startswith("set[")
    }
    return [ast.unparse(node) for node in iterated(tree) if ast.unparse(node) in declared or is_set(node)]


def is_set(node: ast.expr) -> bool:
    """Return whether an expression makes a set."""
    is_call = isinstance(node, ast.Call) and ast.unparse(node.func) in ("set", "frozenset")
    return is_call or isinstance(node, ast.Set | ast.SetComp)


def iterated(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions iterated over, except in functions whose result does not depend on order."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.For):
            yield node.iter
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.DictComp | ast.SetComp):
            yield from (generator.iter for generator in node.generators)
        if not (isinstance(node, ast.Call) and ast.unparse(node.func) in _UNORDERED):
            yield from iterated(node)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a: set[int] = x\nfor b in a: pass", ["a"]),
        ("self.a: set[int] = x\nc = [b for b in self.a]", ["self.a"]),
        ("self.a: set[int] = x\nself.a -= {b for b in self.a}", ["self.a"]),
        ("for b in {1, 2}: pass", ["{1, 2}"]),
        ("a: set[int] = x\nb = any(c for c in a)", []),
        ("a: dict[int, None] = x\nfor b in a: pass", []),
    ],
)
def test_sets_that_are_iterated_are_found(code: str, expected: list[str]) -> None:
    """Declared ones by their names, others where they are made."""
    assert sets_iterated(code) == expected


def test_no_policy_iterates_over_a_set() -> None:
    """Dicts keep their order; a set is for asking what is in it."""
    results = {path.name: sets_iterated(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}
    assert not {name: sets for name, sets in results.items() if sets}
