"""Allowed values in messages, and the name that was probably meant."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

_IN_WORDS = {  # allowed values by type of pydantic's errors, in terms of YAML
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
    "int_parsing_size": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "float_parsing": "a number",
    "none_required": "null",
    "frozen_set_type": "a list such as [a, b]",
    "string_too_short": "text that is not empty",
}


def allowed_names(name: object, names: Iterable[str]) -> str:
    """List the allowed names and, if one is close, ask whether it was meant.

    Parameters
    ----------
    name
        The name in the user's input.
    names
        The allowed names, in the order of the message.
    """
    options = list(names)
    lowered = {option.lower(): option for option in options}
    close = get_close_matches(str(name).lower(), lowered, n=1, cutoff=0.5)
    hint = f"; did you mean {lowered[close[0]]!r}?" if close else ""
    return ", ".join(options) + hint


def in_words(error_type: str, message: str) -> str:
    """Return the allowed values by an error of pydantic's, in terms of YAML, not Python.

    Parameters
    ----------
    error_type, message
        Type and message of the error.

    Examples
    --------
    >>> in_words("too_short", "List should have at least 1 item after validation, not 0")
    'at least 1 item'
    """
    if error_type in _IN_WORDS:
        return _IN_WORDS[error_type]
    text = re.sub(r"^Value error, |^Assertion failed, |^Input should be ", "", message)
    text = re.sub(r"\w+ should have (.+) after validation, not \d+", r"\1", text)
    return text.replace("String should match pattern", "text that matches")
