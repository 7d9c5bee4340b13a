"""The story of a job, for the message of a stuck run."""

from collections.abc import Iterable, Sequence

from artist.core.events import Event
from artist.engine.jobs import JobTable
from artist.units import ns_to_seconds


def story(jobs: JobTable, job: int, events: Iterable[Event]) -> list[str]:
    """Return the history of a job, one line per fact; `events` may include other jobs' events."""
    spec = jobs.specs[job]
    demand = f"{spec.demand.gpus} GPUs" if spec.demand.gpus else f"{spec.demand.cpus} CPUs"
    lines = [
        f"{ns_to_seconds(spec.submit_ns)} s: submitted, asks for {demand}, {spec.iterations} iterations",
        f"{jobs.starts[job]} starts, {jobs.preemptions[job]} preemptions, {jobs.evictions[job]} evictions, "
        f"{jobs.done[job]} iterations done",
    ]
    for event in events:
        if getattr(event, "job", -1) == job:
            detail = getattr(event, "type", getattr(event, "reason", ""))
            name = type(event).__name__.lower()
            lines.append(f"{ns_to_seconds(event.time_ns)} s: {name}{f' ({detail})' if detail else ''}")
    return lines


def stuck_story(jobs: JobTable, waiting: Sequence[int], events: Iterable[Event], now: int) -> str:
    """Return the message for jobs that wait forever, with the story of the first."""
    first = waiting[0]
    lines = "\n  ".join(story(jobs, first, events))
    return (
        f"stuck at {ns_to_seconds(now)} s: {len(waiting)} jobs wait, nothing runs, nothing is due, "
        f"and the policy changes nothing; the first is {jobs.specs[first].job_id!r}:\n  {lines}"
    )
