"""Read YAML files written by users; every fault is an InputError."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from pydantic_core import ErrorDetails
from yaml.composer import ComposerError

from netmodels.errors import InputError, regular
from netmodels.naming import allowed_by, allowed_names


class _Loader(yaml.SafeLoader):
    """Refuses a key that a mapping has twice, of which YAML's own loader silently keeps the last."""

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
    """Return what a YAML file says.

    Parameters
    ----------
    path
        The file.
    kind
        What it should be, for the messages.

    Raises
    ------
    InputError
        If it cannot be read, or is not YAML, in which no mapping has a key twice.
    """
    try:
        text = regular(path.expanduser()).read_text(encoding="utf-8")
    except (OSError, RuntimeError, ValueError) as problem:  # of ValueError: not UTF-8, a NUL in its name
        raise InputError(
            f"cannot read the {kind} file",
            where=str(path),
            found=str(problem),
            allowed="a readable YAML file",
        ) from None
    try:
        content: object = yaml.load(text, _Loader)  # a safe one
    except (yaml.YAMLError, ValueError, RecursionError) as problem:  # also 2020-99-99, no date; and too deep
        raise InputError(
            "not YAML", where=str(path), found=str(problem), allowed=f"a {kind} in YAML"
        ) from None
    return content


def first_problem(problem: ErrorDetails, where: str, fields: Iterable[str]) -> InputError:
    """Explain what pydantic found.

    Parameters
    ----------
    problem
        Its report.
    where
        The file.
    fields
        Names of all fields, to say which was probably meant.
    """
    field = ".".join(str(part) for part in problem["loc"])
    place = f"{where}, {field}" if field else where
    if problem["type"] == "missing":
        return InputError("field missing", where=place, allowed="this field must be given")
    if problem["type"] == "extra_forbidden":
        found = problem["loc"][-1]
        return InputError("unknown field", where=place, found=found, allowed=allowed_names(found, fields))
    return InputError("wrong value", where=place, found=problem["input"], allowed=allowed_by(problem["msg"]))
