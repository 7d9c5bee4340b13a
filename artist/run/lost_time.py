"""Warnings of runs whose jobs hardly progress between stops: before, during and after the run.

The first two warnings are shown at once; the last is a note of the run.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from threading import Event, Thread
from typing import Any

from artist.core.job import JobSpec
from artist.engine.overheads import Overheads
from artist.units import ns_to_seconds, seconds_to_ns

_log = logging.getLogger(__name__)
_PACES = ("quantum_s", "lease_s", "offers_s", "interval_s")
_MAX_JOBS = 1000  # examined before the run
_MUCH = 0.5
_PERIOD_S = 30.0
_REMEDY = "see overheads.on_stop and checkpoint_every_s, the delays, and how often the policy stops jobs"


def warn_of_pace(policy: Mapping[str, Any], overheads: object, jobs: Sequence[JobSpec]) -> None:
    """Warn if a policy, by its configuration, may stop jobs before a restarted one has kept any progress.

    Jobs that lose all at any stop are left out, since no pace helps them. Of nested policies the inner one
    is examined.
    """
    while isinstance(policy.get("of"), Mapping):
        policy = policy["of"]
    paces = [name for name in _PACES if isinstance(policy.get(name), int | float)]
    if not paces or policy.get("preemptive") is False or not isinstance(overheads, Overheads):
        return
    pace = min(paces, key=policy.__getitem__)
    first = list(islice(jobs, _MAX_JOBS))
    needs_ns = [_min_ns(overheads, spec) for spec in first]
    late = sum(need_ns > seconds_to_ns(policy[pace]) for need_ns in needs_ns)
    if late:
        note = (
            "policy.%s is %g s; %d of the first %d jobs need up to %g s to restart and pass a checkpoint; %s"
        )
        longest_s = ns_to_seconds(max(needs_ns))
        _log.warning(note, pace, policy[pace], late, len(first), longest_s, _REMEDY)


def _min_ns(overheads: Overheads, spec: JobSpec) -> int:
    """Return the shortest run after a restart of which something is kept, ns."""
    saved = overheads.saves(spec)
    every = 1 if saved else overheads.checkpoints([spec])[0]
    kept = (not saved and overheads.keeps_open_iteration(spec)) or spec.iterations == 1
    again = 0 if kept else min(every, spec.iterations)
    return overheads.delay_ns("restart", spec, saved=saved) + again * spec.compute_ns


def note_losses(times_ns: Mapping[str, Any]) -> None:
    """Warn at the end of a run if much of the time was lost; takes the columns of a result."""
    sentence = _losses(
        *(times_ns[name].sum(dtype=float) for name in ("lost_ns", "overhead_ns", "running_ns"))
    )
    if sentence:
        _log.info("%s; %s", sentence, _REMEDY, extra={"note": True})


@contextmanager
def watched(jobs: Any) -> Iterator[None]:
    """Warn if much is lost after half a minute of a run, or later; takes the engine's job table."""
    ended = Event()

    def watch() -> None:
        while not ended.wait(_PERIOD_S):
            sentence = _losses(sum(jobs.lost_ns), sum(jobs.overhead_ns), sum(jobs.running_ns))
            if sentence:
                _log.warning("so far %s; %s", sentence, _REMEDY)
                return

    Thread(target=watch, name="losses", daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _losses(lost_ns: float, overhead_ns: float, running_ns: float) -> str:
    """Return a sentence on times summed over jobs; empty if most of the time was progress."""
    held_ns = running_ns + overhead_ns
    if lost_ns + overhead_ns <= _MUCH * held_ns:
        return ""
    lost, delays = (f"{time_ns / held_ns:.0%}".replace("%", " %") for time_ns in (lost_ns, overhead_ns))
    return f"jobs held GPUs without progress most of the time: {lost} was lost by stops, {delays} were delays"
