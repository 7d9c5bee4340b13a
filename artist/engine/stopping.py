"""Stop rules: the end of a run."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StopRule:
    """End when all jobs have finished, or earlier.

    Attributes
    ----------
    jobs
        End as soon as the jobs first <= number < last, counted in order of arrival, have finished;
        later jobs keep the cluster busy meanwhile.
    time_ns
        End at this time.
    """

    jobs: tuple[int, int] | None = None
    time_ns: int | None = None
