"""Checked parameter records: one error in words for every bad option."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from artist.bad_input.explain import from_validation

Model = TypeVar("Model", bound=BaseModel)


class Strict(BaseModel):
    """Base of all parameter records: frozen, no unknown key, no NaN or infinity."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)


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
