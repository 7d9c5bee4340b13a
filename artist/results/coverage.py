"""How many jobs the means of a run cover: one that is stopped early leaves out unfinished ones. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

PARTIAL = "longer and later ones are missing, so these rows compare with no other"
OVERLOADED = " [overloaded]"  # behind the name, or a time, of a row whose queue grows
OVERLOADED_NOTE = "[overloaded]: the queue keeps growing, so times depend on how long the run lasted"
_MOST = 4


class Covered(NamedTuple):
    """Jobs that the means of a run cover, out of all, or of those of the window."""

    finished: int
    jobs: int

    @property
    def whole(self) -> bool:
        """Return whether no job is left out; longer jobs are left out more often, so means are too low."""
        return self.finished == self.jobs


def covered(summary: Mapping[str, Any]) -> Covered:
    """Return the jobs that the means of a summary cover."""
    measured = summary.get("measured")
    if measured is not None:
        return Covered(int(measured["finished"]), int(measured["jobs"]))
    finished = int(summary["finished"])
    return Covered(finished, finished if summary["stopped_by"] == "window" else int(summary["jobs"]))


def window_sizes(summaries: Sequence[Mapping[str, Any]]) -> str:
    """Return the number of jobs in the windows of these runs; empty if all jobs are measured."""
    sizes = {covered(summary).jobs for summary in summaries if covered(summary).jobs < int(summary["jobs"])}
    return " or ".join(map(str, sorted(sizes)))


def mark(summaries: Sequence[Mapping[str, Any]]) -> str:
    """Return the mark beside the number of finished jobs of a row whose means leave out jobs, else ""."""
    counts = [covered(summary) for summary in summaries]
    if all(count.whole for count in counts):
        return ""
    finished, jobs = (sum(column) for column in zip(*counts, strict=True))
    return f" ({finished} of {jobs}*)" if window_sizes(summaries) else "*"


def coverage_notes(summaries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return notes, for below a table of these runs, on the jobs that their means cover."""
    sizes = window_sizes(summaries)
    short = [count for count in map(covered, summaries) if not count.whole]
    counts = list(dict.fromkeys(f"{count.finished} of {count.jobs}" for count in short))
    shown = ", ".join(counts[:_MOST]) + ", ..." * (len(counts) > _MOST)
    window = f"window: JCT, queue and makespan are those of {sizes} jobs"
    partial = f"*: means over the measured jobs that had finished, {shown}: {PARTIAL}"
    stuck = sum(summary["stopped_by"] == "stuck" for summary in summaries)
    waits = f"stuck: {stuck} of these {len(summaries)} runs, where jobs wait forever (stuck in summary.json)"
    return [window] * bool(sizes) + [partial] * bool(short) + [waits] * bool(stuck)
