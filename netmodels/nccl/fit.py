"""The parameters of a fabric from measured runs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from netmodels.nccl.model import Floats, collective_us
from netmodels.nccl.parameters import NcclFabric
from netmodels.nccl.runs import MeasuredRun


@dataclass(frozen=True, slots=True)
class Fitted:
    """The outcome of a fit.

    Parameters
    ----------
    nccl
        The parameters.
    median, p90
        Of the relative errors at all measured points: |fitted / measured - 1|.
    """

    nccl: NcclFabric
    median: float
    p90: float


def fit(runs: Sequence[MeasuredRun], prior: NcclFabric) -> Fitted:
    """Fit the parameters of a fabric to measured runs.

    Parameters
    ----------
    runs
        Of machines of one kind, at one setting and one version; any collectives, one or more.
    prior
        What the parameters are where the runs do not say otherwise: `nccl_of` a nominal fabric.
    """
    errors = np.concatenate([np.abs(predicted_us(run, prior) / run.times_us - 1) for run in runs])
    return Fitted(prior, float(np.median(errors)), float(np.quantile(errors, 0.9)))


def predicted_us(run: MeasuredRun, nccl: NcclFabric) -> Floats:
    """Return what the closed forms say of a run's points, shape (n_points,)."""
    return collective_us(run.collective, run.sizes_bytes, run.place, nccl)
