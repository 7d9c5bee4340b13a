"""The pools of a run over time: their GPUs, those that jobs hold, and the demand of a signal."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from artist.recording.names import POOLS_FILE, RECLAIMED
from artist.results.run import Run
from artist.results.steps import Floats, mean_at, span_edges, thin_steps

_TABLE = POOLS_FILE.removesuffix(".parquet")
_SO_FAR = tuple(f"reclaimed_{name}" for name in RECLAIMED)  # totals up to a time
_MACHINES, _GPUS, _HELD, _NEEDED = "_machines", "_gpus", "_held", "_needed"
_TAKEN = "_taken"  # machines of a pool with jobs, which is short of them; only where there are any


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool as step functions of time; a number holds from its time on.

    Attributes
    ----------
    gpus, held : ndarray, shape (n,)
        GPUs of its machines, and those of them that jobs hold.
    needed, short, worst : ndarray, shape (n,), or None
        GPUs that are to be in it by the signal of its name, if there is one; how many of them are missing,
        and the most that are missing at once.
    """

    name: str
    gpus: Floats
    held: Floats
    needed: Floats | None = None
    short: Floats | None = None
    worst: Floats | None = None


@dataclass(frozen=True, slots=True)
class Pools:
    """All pools of a run; those without a need first, both in the order of the table.

    Attributes
    ----------
    times_s : ndarray, shape (n,)
        The last one is the end of the run.
    thinned
        Whether numbers are means over spans of time.
    """

    times_s: Floats
    pools: tuple[Pool, ...]
    thinned: bool = False


def have_pools(run: Run) -> bool:
    """Return whether a run recorded its pools: its cluster has several."""
    return bool(run.columns(_TABLE))


def read_pools(run: Run, bins: int, work_end_s: float | None = None) -> Pools:
    """Read the pools of a run that recorded them, long ones as means over those of `span_edges`.

    Raises
    ------
    InputError
        If the table is damaged.
    """
    columns = run.columns(_TABLE)
    names = [name.removesuffix(_MACHINES) for name in columns if name.endswith(_MACHINES)]
    (times_s,) = run.numbers(_TABLE, ["time_s"])
    pools = [_pool(run, name, columns) for name in names]
    ordered = tuple(sorted(pools, key=lambda pool: pool.needed is not None))
    if len(times_s) <= 2 * bins:
        return Pools(times_s, ordered)
    edges = span_edges(times_s[-1], bins, work_end_s)
    return Pools(edges, tuple(_thinned(times_s, pool, edges) for pool in ordered), True)


def _pool(run: Run, name: str, columns: Collection[str]) -> Pool:
    gpus, held, machines = run.numbers(_TABLE, [f"{name}{ending}" for ending in (_GPUS, _HELD, _MACHINES)])
    if f"{name}{_NEEDED}" not in columns:
        return Pool(name, gpus, held)
    (needed,) = run.numbers(_TABLE, [f"{name}{_NEEDED}"])
    gpus_per_machine = np.divide(gpus, machines, out=np.zeros_like(gpus), where=machines > 0).max(initial=0.0)
    if f"{name}{_TAKEN}" in columns:
        machines = machines - run.numbers(_TABLE, [f"{name}{_TAKEN}"])[0]
    short = np.maximum(needed - machines, 0.0) * gpus_per_machine
    return Pool(name, gpus, held, needed * gpus_per_machine, short, short)


def _thinned(times_s: Floats, pool: Pool, edges: Floats) -> Pool:
    gpus, held = (mean_at(times_s, column, edges) for column in (pool.gpus, pool.held))
    if pool.needed is None or pool.short is None:
        return Pool(pool.name, gpus, held)
    needed, short = (mean_at(times_s, column, edges) for column in (pool.needed, pool.short))
    worst = np.append(thin_steps(times_s, pool.short, edges)[2], pool.short[-1])
    return Pool(pool.name, gpus, held, needed, short, worst)


@dataclass(frozen=True, slots=True)
class Returns:
    """Machines that returned to their pools, and jobs preempted for it, in spans of time.

    Attributes
    ----------
    machines : ndarray, shape (3, n)
        By how they were cleared: idle, flexible, preempting.
    jobs : ndarray, shape (n,)
    """

    machines: Floats
    jobs: Floats


def has_returns(run: Run) -> bool:
    """Return whether a run recorded the returns of machines to their pools."""
    return set(_SO_FAR) <= set(run.columns(_TABLE))


def read_returns(run: Run, width_s: float, end_s: float) -> Returns:
    """Read the returns of machines, in spans of `width_s`; raise InputError if the table is damaged."""
    times_s, *totals = run.numbers(_TABLE, ["time_s", *_SO_FAR])
    edges = width_s * np.arange(int(np.ceil(end_s / width_s)) + 1)
    at = np.searchsorted(times_s, edges, side="left") - 1  # an edge begins a span
    at[-1] = len(times_s) - 1
    counts = np.diff(np.where(at >= 0, np.array(totals)[:, np.maximum(at, 0)], 0.0), axis=1)
    return Returns(counts[:3], counts[3])
