"""The parameters of a fabric from measured runs.

Minimised over the logarithms x of the parameters that the runs depend on,

    sum over points of log(1 + (log(model / measured) / 0.05)^2)  +  sum over x of ((x - prior) / width)^2

A Cauchy loss: errors within 5 % count as squares, and a point that is off by a factor (a cold first size, a
jump between algorithms, one of two states of a machine) hardly counts. The prior keeps parameters that runs
do not determine at their physical values: bandwidths near those of the data sheet, latencies near NCCL's
constants. One run of one collective leaves at most six parameters free.

Which parameters are free depends on the runs: `start_us` never is, `skew` with all-reduces on two placements
of more than two machines, `ring_from_mb` with one of several runs on such a placement. The sum has several
valleys, and the lowest local minimum counts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np

from netmodels.fabric.nccl import NcclFabric, NcclTier
from netmodels.nccl.model import Floats, collective_us
from netmodels.nccl.runs import MeasuredRun

_CLOSE = 0.05  # relative error up to which a point counts fully
_WIDTHS: Mapping[str, float] = {  # standard deviations of the logarithms, of prior knowledge
    "ll_share": 1.0,
    "ll_pipeline": 0.7,
    "pipeline": 0.8,
    "bulk": 0.5,
    "machine_step": 0.7,
    "rack_step": 1.0,
    "round_us": 1.5,
    "bulk_round_us": 1.0,
    "message_us": 1.0,
    "exchange": 0.4,
    "rack_gb_s": 0.05,
    "machine_gb_s": 0.3,
    "switch_gb_s": 0.3,
    "channels_gb_s": 2.0,
    "skew": 0.5,
    "ring_from_mb": 0.7,
}
_FRACTIONS = ("ll_share", "exchange")  # at most 1
_STARTS: tuple[dict[str, float], ...] = (  # offsets of the logarithms: the sum has several valleys
    {},
    {"channels_gb_s": -1.0},
    {"channels_gb_s": -2.0},
    {"ll_share": -1.5, "bulk": 1.0},
    {"ll_share": -1.5, "bulk": 1.0, "channels_gb_s": -1.5},
    {"ring_from_mb": 0.9},
    {"ring_from_mb": -0.9},
    {"pipeline": -1.5, "bulk": 1.0},
    {"pipeline": -1.5, "channels_gb_s": -1.5},
    {"pipeline": -0.5, "channels_gb_s": -2.0},
    {"pipeline": -0.5, "channels_gb_s": -2.6},
    {"rack_step": 1.5, "round_us": 1.0, "bulk_round_us": 1.0},
)


@dataclass(frozen=True, slots=True)
class Fitted:
    """The outcome of a fit.

    Parameters
    ----------
    nccl
        The parameters.
    median, p90
        Of the relative errors at all measured points: |fitted / measured - 1|.
    free
        Names of the parameters that were fitted.
    """

    nccl: NcclFabric
    median: float
    p90: float
    free: tuple[str, ...] = ()


def fit_nccl(runs: Sequence[MeasuredRun], prior: NcclFabric) -> Fitted:
    """Fit the parameters of a fabric to measured runs.

    Parameters
    ----------
    runs
        Of machines of one kind, at one setting and one version; any collectives, one or more.
    prior
        Parameters where the runs do not determine them: `nccl_of` a nominal fabric.
    """
    _, nccl, free = min(_valleys(runs, prior), key=lambda valley: valley[0])
    errors = np.concatenate([np.abs(predicted_us(run, nccl) / run.times_us - 1) for run in runs])
    return Fitted(nccl, float(np.median(errors)), float(np.quantile(errors, 0.9)), free)


def predicted_us(run: MeasuredRun, nccl: NcclFabric) -> Floats:
    """Return the times of a run's points according to the closed forms, shape (n_points,)."""
    return collective_us(run.collective, run.sizes_bytes, run.place, nccl)


def _valleys(
    runs: Sequence[MeasuredRun], prior: NcclFabric
) -> Iterator[tuple[float, NcclFabric, tuple[str, ...]]]:
    """Yield (sum, parameters, names of the free ones) of each start."""
    from scipy.optimize import least_squares

    free = free_parameters(runs)
    known = np.array([log(_value(prior, name)) for name in free])
    widths = np.array([_WIDTHS[name] for name in free])
    highest = np.array([0.0 if name in _FRACTIONS else np.inf for name in free])
    residuals = _residuals(runs, prior, free, known, widths)
    for start in _STARTS:
        if set(start) <= set(free):
            begin = np.minimum(known + [start.get(name, 0.0) for name in free], highest)
            solution = least_squares(residuals, begin, bounds=(-np.inf, highest))
            yield float(solution.cost), _with(prior, free, np.exp(solution.x)), free


def _residuals(
    runs: Sequence[MeasuredRun], base: NcclFabric, free: tuple[str, ...], known: Floats, widths: Floats
) -> Callable[[Floats], Floats]:
    def residuals(logs: Floats) -> Floats:
        nccl = _with(base, free, np.exp(logs))
        off = np.concatenate([np.log(predicted_us(run, nccl) / run.times_us) / _CLOSE for run in runs])
        return np.concatenate([np.sign(off) * np.sqrt(np.log1p(off * off)), (logs - known) / widths])

    return residuals


_NEEDS: dict[str, tuple[set[str], ...]] = {  # of a free parameter: facts on the runs, any one set of them
    "ll_share": ({"reduces"}, {"rings"}),
    "ll_pipeline": ({"reduces"}, {"rings"}),
    "pipeline": ({"reduces"}, {"inside"}, {"sends"}),
    "bulk": ({"reduces"}, {"inside", "rings"}),
    "machine_step": ({"reduces", "inside"},),
    "rack_step": ({"reduces", "across"},),
    "round_us": ({"rings"},),
    "bulk_round_us": ({"across", "rings"}, {"across", "reduces", "several"}),
    "message_us": ({"exchanges"},),
    "exchange": ({"across", "exchanges"}, {"across", "sends"}),
    "rack_gb_s": ({"across", "several", "reduces"}, {"across", "several", "rings"}),
    "machine_gb_s": ({"inside, not reducing"},),
    "switch_gb_s": ({"inside, reducing"},),
    "channels_gb_s": ({"across", "reduces"}, {"across", "rings"}),
    "skew": ({"reduces on several sizes"},),
    "ring_from_mb": ({"reduces on 3 machines", "several"},),
}


def free_parameters(runs: Sequence[MeasuredRun]) -> tuple[str, ...]:
    """Return the names of the parameters that the runs determine; at most six for one run."""
    done = {run.collective for run in runs}
    inside = {run.collective for run in runs if run.machines == 1}
    sizes = {run.machines for run in runs if run.machines > 2 and run.collective == "all_reduce"}
    facts = {
        "reduces": "all_reduce" in done,
        "rings": not done.isdisjoint({"all_gather", "reduce_scatter"}),
        "sends": "send_receive" in done,
        "exchanges": "all_to_all" in done,
        "inside": bool(inside),
        "across": any(run.machines > 1 for run in runs),
        "several": len(runs) > 1,
        "inside, not reducing": bool(inside - {"all_reduce"}),
        "inside, reducing": "all_reduce" in inside,
        "reduces on 3 machines": bool(sizes),
        "reduces on several sizes": len(sizes) > 1,
    }
    known = {name for name, holds in facts.items() if holds}
    return tuple(name for name, needs in _NEEDS.items() if any(needed <= known for needed in needs))


def _value(nccl: NcclFabric, name: str) -> float:
    """Return a parameter by its name in a fit."""
    values = {
        "machine_step": nccl.machine.step_us,
        "rack_step": nccl.rack.step_us,
        "rack_gb_s": nccl.rack.gpu_gb_s,
        "machine_gb_s": nccl.machine.gpu_gb_s,
        "switch_gb_s": nccl.inside_gb_s,
        "channels_gb_s": nccl.channels_gb_s or nccl.inside_gb_s,
    }
    return values[name] if name in values else float(getattr(nccl, name))


def _with(nccl: NcclFabric, names: Sequence[str], values: Floats) -> NcclFabric:
    """Return parameters with some replaced; the network tier follows the rack's if the two were equal.

    Otherwise its step is at least the rack's, and its bandwidth at most: no run is on several racks.
    """
    fitted = dict(zip(names, values.tolist(), strict=True))
    machine = _scaled(nccl.machine, fitted.pop("machine_step", None), fitted.pop("machine_gb_s", None))
    rack = _scaled(nccl.rack, fitted.pop("rack_step", None), fitted.pop("rack_gb_s", None))
    network = rack if nccl.network == nccl.rack else _bounded_by(nccl.network, rack)
    return replace(nccl, machine=machine, rack=rack, network=network, **fitted)


def _bounded_by(tier: NcclTier, inner: NcclTier) -> NcclTier:
    """Return a tier no quicker and no wider than the one inside it."""
    return replace(
        tier, step_us=max(tier.step_us, inner.step_us), gpu_gb_s=min(tier.gpu_gb_s, inner.gpu_gb_s)
    )


def _scaled(tier: NcclTier, step_us: float | None, gpu_gb_s: float | None) -> NcclTier:
    """Return a tier with another step, and another bandwidth that its shared ports follow."""
    more = 1.0 if gpu_gb_s is None else gpu_gb_s / tier.gpu_gb_s
    return NcclTier(
        tier.step_us if step_us is None else step_us,
        tier.gpu_gb_s * more,
        tier.machine_gb_s * more,
        tier.rack_gb_s * more,
    )
