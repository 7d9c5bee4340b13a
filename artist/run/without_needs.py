"""Warn of settings without effect because no job depends on CPUs or memory."""

import logging

from artist.performance.profiling import OptimisticProfiling
from artist.run.config import PerformanceConfig

_log = logging.getLogger(__name__)
_MECHANISMS = ("tune", "greedy", "opt", "tuned")


def warn_without_needs(config: PerformanceConfig, policy: object, estimates: object) -> None:
    """Log the settings that only affect jobs with needs, if no job has any.

    Effects of the user's own may look at CPUs and memory, so with such there is nothing to say.
    """
    if config.sensitivity is not None or config.effects:
        return
    chosen = (
        (f"policy.{field}", getattr(policy, field, None)) for field in ("mechanism", "fill", "allocator")
    )
    vain = [f"{field}={name}" for field, name in chosen if isinstance(name, str) and name in _MECHANISMS]
    if isinstance(estimates, OptimisticProfiling):
        vain.append("estimates=optimistic_profiling")
    if vain:
        note = "performance.sensitivity is null, so no job depends on CPUs or memory: nothing is gained by %s"
        _log.warning(note, ", ".join(vain), extra={"note": True})
