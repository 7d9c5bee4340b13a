"""Parameters of policies: strictness, and parts by name or of the user's own."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from pydantic import ConfigDict
from pydantic_core import PydanticCustomError

from artist.core.checked import AnswerError, checked
from artist.errors import PlanError

Part = TypeVar("Part")

STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)
_PLAIN = (str, int, float, list, dict, type(None))


def class_name(part: object) -> str:
    """Return the name by which a YAML refers to the class of a part of the user's own."""
    return f"{type(part).__module__}.{type(part).__qualname__}"


def check_part(
    value: object, shipped: Iterable[str], method: str, base: type[object] | None = None
) -> object:
    """Return the name of a shipped part, or any object with the method of such parts, unchanged.

    Parameters
    ----------
    base
        A class that such an object must inherit; None if the method is enough.

    Raises
    ------
    PydanticCustomError
        Of type `no_such_part`, with the value found and the names that are allowed.
    """
    names = list(shipped)
    of_user = callable(getattr(value, method, None)) and isinstance(value, base or object)
    if value in names if isinstance(value, str) else of_user:
        return value
    shown = value if isinstance(value, _PLAIN) else type(value)
    inherits = f" that inherits {base.__module__}.{base.__qualname__}," if base else ""
    allowed = [*names, f"{{_target_: module.Class}}{inherits} with a method `{method}`"]
    raise PydanticCustomError("no_such_part", "no such part", {"found": shown, "allowed": allowed})


def checked_part(part: Part, role: str, **checks: Callable[..., Any]) -> Part:
    """Return a part of the user's own that raises PlanError for a wrong answer; it is otherwise the same.

    Parameters
    ----------
    role
        As the message names it, such as "order".
    **checks
        By method, as `artist.core.checked.checked` takes them; a wrong answer is found in words.
    """

    def error(method: str, wrong: AnswerError) -> PlanError:
        allowed = f"; {wrong.allowed}" if wrong.allowed else ""
        return PlanError(f"{role} {class_name(part)}: {method} returned {wrong.found}{allowed}")

    return checked(part, error, **checks)
