"""Errors with a message for the user: problem, place, value found, allowed values."""

from typing import Any

from netmodels.inputs.errors import InputError, regular

__all__ = ["InputError", "PlanError", "RunError", "Stopped", "StuckError", "out_of_memory", "regular"]


class Stopped(KeyboardInterrupt):
    """A signal arrived; its number is the argument."""


class PlanError(Exception):
    """A policy returned a plan that cannot be carried out; names job, machine and time."""


class StuckError(Exception):
    """Jobs wait forever, as the policy changes nothing, or are stopped and moved forever without progress.

    Attributes
    ----------
    result
        `artist.core.result.RunResult` of the run up to there.
    """

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class RunError(Exception):
    """A run of `artist.simulate` failed; the message is that of the command."""


def out_of_memory(where: str) -> InputError:
    """Return the error of work for which the machine has too little memory."""
    allowed = "a machine with more, fewer jobs, or fewer runs at a time (hydra.launcher.n_jobs)"
    return InputError("memory ran out", where=where, allowed=allowed)
