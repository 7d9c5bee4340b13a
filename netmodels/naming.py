"""Suggests allowed values, and the name that was probably meant."""

import re
from collections.abc import Iterable
from difflib import get_close_matches


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


def allowed_by(message: str) -> str:
    """Return what is allowed from a message of pydantic's, less what only Python users understand.

    >>> allowed_by("List should have at least 1 item after validation, not 0")
    'at least 1 item'
    """
    text = message.removeprefix("Value error, ")
    text = re.sub(r"^Input should be a valid dictionary.*", "a mapping such as {name: value}", text)
    return re.sub(r"\w+ should have (.+) after validation, not \d+", r"\1", text)
