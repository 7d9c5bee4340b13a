"""What the parameters of all policies have in common: strictness, and parts that are named or given."""

from collections.abc import Iterable

from pydantic import ConfigDict
from pydantic_core import PydanticCustomError

STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)
_PLAIN = (str, int, float, list, dict, type(None))


def check_part(value: object, shipped: Iterable[str], method: str) -> object:
    """Return the name of a shipped part, or any object that has the method of such parts, as it is.

    Raises
    ------
    PydanticCustomError
        Of type `no_such_part`, with the value found and the names that are allowed.
    """
    names = list(shipped)
    if value in names if isinstance(value, str) else callable(getattr(value, method, None)):
        return value
    found = value if isinstance(value, _PLAIN) else type(value)
    allowed = [*names, f"{{_target_: module.Class}} with a method `{method}`"]
    raise PydanticCustomError("no_such_part", "no such part", {"found": found, "allowed": allowed})
