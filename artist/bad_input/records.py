"""Checked parameter records: one error in words for every bad option."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    ValidatorFunctionWrapHandler,
    field_validator,
)
from pydantic_core import PydanticKnownError

from artist.bad_input.explain import from_validation

Model = TypeVar("Model", bound=BaseModel)
Item = TypeVar("Item")

NoneIfEmpty = Annotated[Item | None, BeforeValidator(lambda value: None if value in ([], ()) else value)]
"""A list, or None, which an empty list means too."""


class Strict(BaseModel):
    """Base of all parameter records: frozen, no unknown key, no NaN or infinity."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)

    @field_validator("*", mode="wrap")
    @classmethod
    def _no_truth_value(cls, value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
        """Refuse true and false as numbers: pydantic takes them as 1 and 0."""
        result = validate(value)
        if isinstance(value, bool) and not isinstance(result, bool):
            raise PydanticKnownError("int_type" if isinstance(result, int) else "float_type")
        return result


def validated(model: type[Model], values: Mapping[str, Any], where: str = "") -> Model:
    """Return the user's values as a checked record.

    Parameters
    ----------
    where
        Name of the config group, such as "workload", if the record is one; the field's path is appended.

    Raises
    ------
    InputError
        For a bad field: its name, the value found, the allowed values.
    """
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        raise from_validation(error, where, model=model) from None
