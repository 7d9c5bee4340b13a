"""Tuned jobs: elastic jobs train with the batch size that suits their workers (Pollux's job agent).

Effect of a batch size, by model: `traces/measured/goodput.csv`, from Pollux's measurements (petuum/adaptdl,
branch osdi21-artifact @c793c70, simulator/traces, Apache-2.0), where `source` names a folder of theirs:

- `batch` is the smallest batch validated, one that the users of Pollux's evaluation request;
- `noise_scale` is the median over the epochs of grad_var / grad_sqr with that batch, times the batch;
- `fixed` is the constant part of a line through the step times by local batch on four GPUs of one machine, as
  a share of the step with `batch` on each. Between machines it is larger: the network model covers that.
"""

import csv
from functools import cache

from artist.core.cluster import Allocation, Cluster
from artist.core.job import JobSpec
from artist.data import data_path
from artist.performance.effects.compute import Compute, scaled
from artist.performance.formulas.goodput import Goodput

_OTHERS = "others"


class TunedCompute(Compute):
    """Compute time whose elastic jobs gain by their batch size, the more workers they hold.

    An iteration is the same progress as with the requested batch, so a gain divides its compute time; the
    trace's time is that of the requested batch. Exposed communication stays the same share of compute.
    """

    def ns(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> int:
        """Return the compute time of an iteration in ns."""
        demand = spec.demand
        factor = self.factor(demand, allocation, cluster)
        if demand.elastic and demand.gpus:
            workers = self._counted(demand, allocation, cluster) / demand.min_gpus
            factor /= goodput_of(spec.model).gain(workers)
        return scaled(spec.compute_ns, factor)


def goodput_of(model: str) -> Goodput:
    """Return the goodput of jobs of a model; an unlisted model is treated as `others`."""
    known = measured_goodputs()
    return known.get(model) or known[_OTHERS]


@cache
def measured_goodputs() -> dict[str, Goodput]:
    """Return the goodput by model, and of others."""
    goodputs = {}
    with (data_path("traces", "measured") / "goodput.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            goodput = Goodput(*(float(row[name]) for name in ("noise_scale", "batch", "fixed")))
            goodputs.update(dict.fromkeys(row["models"].split() or [row["family"]], goodput))
    return goodputs
