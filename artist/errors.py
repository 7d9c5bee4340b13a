"""Errors with a message for the user: what, where, value found, what is allowed."""

from netmodels.inputs.errors import InputError, regular

__all__ = ["InputError", "PlanError", "RunError", "StuckError", "regular"]


class PlanError(Exception):
    """A policy returned a plan that cannot be carried out; names job, machine and time."""


class StuckError(Exception):
    """Jobs wait forever: nothing runs, nothing is due, and the policy changes nothing."""


class RunError(Exception):
    """A run that `artist.simulate` was asked for did not finish; says why, as the command would."""
