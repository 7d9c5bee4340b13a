"""Read YAML files written by users; every fault is an InputError."""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from yaml.composer import Composer, ComposerError

from netmodels.inputs.errors import InputError
from netmodels.inputs.files import read_text
from netmodels.inputs.naming import allowed_names, in_words

_MAX_DEPTH, _MAX_REPEATED = 100, 10_000  # levels; values that aliases repeat


class Loader(yaml.SafeLoader):
    """A safe loader that refuses a key twice in a mapping, deep nesting, and aliases without end."""

    _depth = 0

    def compose_document(self) -> yaml.Node | None:
        """Return a document's tree, checked before it is built, copied or printed."""
        root: yaml.Node | None = Composer.compose_document(self)
        sizes: dict[yaml.Node, float] = {}
        if root is not None and _size(root, sizes) > len(sizes) + _MAX_REPEATED:
            what = f"aliases that repeat more than {_MAX_REPEATED:,} values"
            raise ComposerError(None, None, what, root.start_mark)
        return root

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose a value, at most `_MAX_DEPTH` levels deep."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            what = f"nested more than {_MAX_DEPTH} levels deep"
            at: Any = self
            raise ComposerError(None, None, what, at.peek_event().start_mark)
        node = Composer.compose_node(self, parent, index)
        self._depth -= 1
        return node


_BASES: Any = (Composer, yaml.CSafeLoader) if yaml.__with_libyaml__ else (Loader,)


class FastLoader(*_BASES):  # type: ignore[misc]
    """The same by libyaml where it was built, ten times as fast; its places are less exact.

    Its own composer crashes at deep nesting.
    """

    _depth, compose_document, compose_node = 0, Loader.compose_document, Loader.compose_node

    def __init__(self, stream: str) -> None:
        _BASES[-1].__init__(self, stream)
        Composer.__init__(self)


def _size(node: yaml.Node, sizes: dict[yaml.Node, float]) -> float:
    """Return the number of values with each alias in full; infinity for one inside itself."""
    if node in sizes:
        return sizes[node]
    sizes[node], parts = math.inf, []
    if isinstance(node, yaml.MappingNode):
        _check_keys([key for key, _ in node.value])
        parts = [part for pair in node.value for part in pair]
    elif isinstance(node, yaml.SequenceNode):
        parts = node.value
    sizes[node] = 1 + sum(_size(part, sizes) for part in parts)
    return sizes[node]


def _check_keys(keys: Sequence[yaml.Node]) -> None:
    """Raise for a key that is null, or twice in a mapping: YAML's own loader silently keeps the last."""
    seen = set()
    for key in keys:
        if key.tag == "tag:yaml.org,2002:null":
            raise ComposerError(None, None, "a key without a name", key.start_mark)
        name = key.tag, key.value if isinstance(key, yaml.ScalarNode) else id(key)
        if name in seen:
            raise ComposerError(None, None, f"the same key twice: {key.value}", key.start_mark)
        seen.add(name)


def read_yaml(path: Path, kind: str) -> object:
    """Return the content of a YAML file.

    Parameters
    ----------
    path
        The file.
    kind
        Expected content, for the messages.

    Raises
    ------
    InputError
        If it cannot be read, is not YAML, or a mapping has a key twice.
    """
    return _read(path, kind, lambda text: yaml.load(text, Loader))  # a safe one


def read_documents(path: Path, kind: str) -> list[object]:
    """Return the documents of a YAML file; raise as `read_yaml` does."""
    documents: list[object] = []
    _read(path, kind, lambda text: documents.extend(yaml.load_all(text, Loader)))
    return documents


def check_yaml(path: Path, kind: str) -> None:
    """Raise as `read_yaml` does for a file that another loader will read, and if it is a single value."""
    root = _read(path, kind, lambda text: Loader(text).get_single_node())
    if isinstance(root, yaml.ScalarNode):
        raise InputError("not a mapping", where=str(path), found=root.value, allowed="field: value")


def _read(path: Path, kind: str, load: Callable[[str], object]) -> object:
    text = read_text(path, kind)
    try:
        return load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as problem:  # also 2020-99-99, no date; and too deep
        mark = getattr(problem, "problem_mark", None)
        where = f"{path}, line {mark.line + 1}, column {mark.column + 1}" if mark else str(path)
        text = getattr(problem, "problem", None) or str(problem)
        raise InputError("not YAML", where=where, found=text, allowed=f"the {kind} file, in YAML") from None


def first_problem(error: ValidationError, where: str, fields: Iterable[str]) -> InputError:
    """Explain the most telling problem that pydantic found: a misspelt field before a missing one.

    Parameters
    ----------
    where
        The file.
    fields
        Names of all fields, to suggest which was meant.
    """
    problem = min(error.errors(), key=lambda detail: detail["type"] == "missing")
    field = ".".join(str(part) for part in problem["loc"])
    place = f"{where}, {field}" if field else where
    if problem["type"] == "missing":
        return InputError("field missing", where=place, allowed="this field must be given")
    if problem["type"] == "extra_forbidden":
        name = problem["loc"][-1]
        return InputError("unknown field", where=place, found=name, allowed=allowed_names(name, fields))
    allowed = in_words(problem["type"], problem["msg"])
    return InputError("wrong value", where=place, found=problem["input"], allowed=allowed)
