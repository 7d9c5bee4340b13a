"""What the parameters of all policies have in common: strictness, and parts that are named or given."""

from collections.abc import Iterable

from pydantic import ConfigDict
from pydantic_core import PydanticCustomError

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
    own = callable(getattr(value, method, None)) and isinstance(value, base or object)
    if value in names if isinstance(value, str) else own:
        return value
    found = value if isinstance(value, _PLAIN) else type(value)
    inherits = f" that inherits {base.__module__}.{base.__qualname__}," if base else ""
    allowed = [*names, f"{{_target_: module.Class}}{inherits} with a method `{method}`"]
    raise PydanticCustomError("no_such_part", "no such part", {"found": found, "allowed": allowed})
