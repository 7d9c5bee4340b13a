"""Dataclasses for records that a run creates in large numbers."""

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """Make a dataclass with slots, frozen for type checkers only: a check at run time doubles its cost."""
    return dataclass(slots=True, unsafe_hash=True)(cls)
