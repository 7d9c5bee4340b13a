"""Read YAML files written by users; every fault is an InputError."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from yaml.composer import ComposerError

from netmodels.inputs.errors import InputError
from netmodels.inputs.files import read_text
from netmodels.inputs.naming import allowed_names, in_words


class _Loader(yaml.SafeLoader):
    """Refuses a key that a mapping has twice; YAML's own loader silently keeps the last."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            name = key.tag, str(key.value)
            if name in seen:
                raise ComposerError(None, None, f"the same key twice: {key.value}", key.start_mark)
            seen.add(name)
        return node


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
    text = read_text(path, kind)
    try:
        content: object = yaml.load(text, _Loader)  # a safe one
    except (yaml.YAMLError, ValueError, RecursionError) as problem:  # also 2020-99-99, no date; and too deep
        mark = getattr(problem, "problem_mark", None)
        where = f"{path}, line {mark.line + 1}, column {mark.column + 1}" if mark else str(path)
        text = getattr(problem, "problem", None) or str(problem)
        raise InputError("not YAML", where=where, found=text, allowed=f"the {kind} file, in YAML") from None
    return content


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
