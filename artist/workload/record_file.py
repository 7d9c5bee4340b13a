"""Files that hold one checked record: distributions, recipes."""

from pathlib import Path
from typing import TypeVar

from artist.bad_input.records import Strict, validated
from artist.errors import InputError
from netmodels.inputs.schema import read_yaml

Record = TypeVar("Record", bound=Strict)


def read_record(path: Path, model: type[Record], kind: str) -> Record:
    """Read and check a YAML file.

    Parameters
    ----------
    kind
        Expected content, for the messages: `distributions`.

    Raises
    ------
    InputError
        If the file cannot be read or is not such a record.
    """
    values = read_yaml(path, kind)
    if not isinstance(values, dict):
        raise InputError(f"not a file of {kind}", where=str(path), found=values, allowed="a mapping")
    return validated(model, values, str(path))
