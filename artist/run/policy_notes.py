"""Notes for the user on what a policy does with these jobs on this cluster."""

import logging
from collections.abc import Sequence

from artist.core.cluster import Cluster
from artist.core.job import JobSpec
from artist.recording.kinds import Kinds

_log = logging.getLogger(__name__)


def tell_notes(policy: object, cluster: Cluster, jobs: Sequence[JobSpec]) -> None:
    """Log the notes that the policy's `notes` returns, if it has that method."""
    notes = getattr(policy, "notes", None)
    for note in notes(cluster, jobs) if callable(notes) else ():
        _log.info("policy %s: %s", type(policy).__name__, note, extra={"note": True})


def tell_of_lack(kinds: Kinds, jobs: Sequence[JobSpec]) -> None:
    """Warn of GPU jobs that had no CPUs because CPU-only jobs had them, where jobs need CPUs."""
    if kinds.without_cpus:
        note = "%d of %d GPU jobs held no CPUs at times, when they go on at a hundredth of their speed: %s"
        cause = "CPU-only jobs had those of the machine, and these jobs do not wait for any"
        gpu_jobs = sum(spec.demand.gpus > 0 for spec in jobs)
        _log.warning(note, len(kinds.without_cpus), gpu_jobs, cause, extra={"note": True})
