"""Errors with a message for the user: problem, place, value found, allowed values."""

from netmodels.inputs.errors import InputError, regular

__all__ = ["InputError", "PlanError", "RunError", "StuckError", "regular"]


class PlanError(Exception):
    """A policy returned a plan that cannot be carried out; names job, machine and time."""


class StuckError(Exception):
    """Jobs wait forever: nothing runs, nothing is due, and the policy changes nothing."""


class RunError(Exception):
    """A run of `artist.simulate` failed; the message is that of the command."""
