"""Checked answers: a part of the user's own that raises an error for an answer that cannot be used."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar, cast

Part = TypeVar("Part")


class AnswerError(Exception):
    """An answer that cannot be used.

    Parameters
    ----------
    found
        The answer, or the part of it that is wrong.
    allowed
        The answers that can be used, unless `found` says so.
    job_id
        Of the job concerned, if it is a single one.
    """

    def __init__(self, found: object, allowed: str = "", job_id: str = "") -> None:
        super().__init__(found, allowed, job_id)
        self.found, self.allowed, self.job_id = found, allowed, job_id


Refusal = Callable[[str, AnswerError], Exception]


def checked(part: Part, error: Refusal, **checks: Callable[..., Any]) -> Part:
    """Return a part with some of its answers checked; it is otherwise the same.

    Parameters
    ----------
    error
        From the method and its wrong answer to the error to raise.
    **checks
        By method, a function of its answer and arguments that returns the answer to use or raises
        `AnswerError`.
    """
    return cast("Part", _Checked(part, error, checks))


class _Checked:
    def __init__(self, part: object, error: Refusal, checks: Mapping[str, Callable[..., Any]]) -> None:
        self._part = part
        for method, check in checks.items():
            setattr(self, method, partial(self._answer, method, check, error))

    def _answer(
        self, method: str, check: Callable[..., Any], error: Refusal, *arguments: Any, **options: Any
    ) -> Any:
        try:
            return check(getattr(self._part, method)(*arguments, **options), *arguments, **options)
        except AnswerError as wrong:
            raise error(method, wrong) from None

    def __getattr__(self, name: str) -> Any:
        if name == "_part":  # of a copy that is not filled yet
            raise AttributeError(name)
        return getattr(self._part, name)
