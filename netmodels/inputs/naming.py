"""Suggests allowed values, and the name that was probably meant."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

_IN_WORDS = {  # what pydantic's types of errors mean to somebody who writes YAML
    "tuple_type": "a list such as [0, 10] or [a, b]",
    "list_type": "a list such as [a, b]",
    "dict_type": "a mapping such as {name: value}",
    "model_type": "a mapping such as {name: value}",
    "dataclass_type": "a mapping such as {name: value}",
    "path_type": "a path",
    "string_type": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "an integer",
    "int_parsing": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "float_parsing": "a number",
    "none_required": "null",
    "frozen_set_type": "a list such as [a, b]",
    "string_too_short": "text that is not empty",
}


def allowed_names(found: object, names: Iterable[str]) -> str:
    """List the allowed names and, if one is close, ask whether it was meant.

    Parameters
    ----------
    found
        What the user wrote.
    names
        What would have been right, in the order in which it is to be shown.
    """
    options = list(names)
    lowered = {name.lower(): name for name in options}
    close = get_close_matches(str(found).lower(), lowered, n=1, cutoff=0.5)
    hint = f"; did you mean {lowered[close[0]]!r}?" if close else ""
    return ", ".join(options) + hint


def in_words(kind: str, message: str) -> str:
    """Return what is allowed by an error of pydantic's, in terms of YAML, not Python.

    Parameters
    ----------
    kind, message
        Its type and its message.

    Examples
    --------
    >>> in_words("too_short", "List should have at least 1 item after validation, not 0")
    'at least 1 item'
    """
    if kind in _IN_WORDS:
        return _IN_WORDS[kind]
    text = re.sub(r"^Value error, |^Assertion failed, |^Input should be ", "", message)
    text = re.sub(r"\w+ should have (.+) after validation, not \d+", r"\1", text)
    return text.replace("String should match pattern", "text that matches")
