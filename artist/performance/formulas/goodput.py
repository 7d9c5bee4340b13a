"""Goodput: progress with the batch size that suits a job's workers (Qiao et al., Pollux, OSDI 2021).

    goodput(workers, batch) = throughput(workers, batch) x efficiency(batch)

Throughput is in samples per time. Efficiency is the progress per sample in a batch of that size, relative to
the requested batch m0: (phi + m0) / (phi + batch), where phi is the gradient noise scale, in samples
(McCandlish et al., An Empirical Model of Large-Batch Training, 2018).

Here throughput with the requested batch is linear in workers, as in Lyra's simulator (section 7.1), and a
share of its iteration does not grow with the batch: launches, the optimizer, and gradients, exchanged once
per batch. Larger batches spread that share over more samples, at the cost of efficiency.

Differs from the paper:

- phi of a model is one number; in the paper it is measured continuously, and grows while a job trains.
- The share is one number per model; there an iteration is fitted, with terms for one machine and for several.
- A worker's part of the batch is never larger than at base demand (ASSUMPTION: users fill GPU
  memory), so at base demand the requested batch is best. There memory and a limit set by the user count, and
  a worker may gather gradients of several parts.
- A batch need not be a whole number of samples, and as there is never smaller than m0.
"""

from dataclasses import dataclass
from math import sqrt


@dataclass(frozen=True, slots=True)
class Goodput:
    """Goodput of jobs of one model by batch size.

    Attributes
    ----------
    noise_scale
        Gradient noise scale phi, in samples.
    batch
        Requested batch size m0, in samples.
    fixed
        Share of an iteration with the requested batch that does not grow with the batch, in [0, 1).
    """

    noise_scale: float
    batch: float
    fixed: float

    def efficiency(self, batch: float) -> float:
        """Return the progress per sample in a batch of a size, relative to the requested batch.

        >>> Goodput(noise_scale=300, batch=100, fixed=0.2).efficiency(300)  # (300 + 100) / (300 + 300)
        0.6666666666666666
        """
        return (self.noise_scale + self.batch) / (self.noise_scale + batch)

    def throughput(self, workers: float, batch: float) -> float:
        """Return samples per time.

        Parameters
        ----------
        workers
            Relative to base demand, which processes the requested batch in one unit of time.

        >>> Goodput(noise_scale=300, batch=100, fixed=0.2).throughput(2, 300)  # 2 x 300 / (0.2 + 0.8 x 3)
        230.76923076923077
        """
        return workers * batch / (self.fixed + (1 - self.fixed) * batch / self.batch)

    def goodput(self, workers: float, batch: float) -> float:
        """Return throughput times efficiency: samples of the requested batch per time, at equal progress."""
        return self.throughput(workers, batch) * self.efficiency(batch)

    def best_batch(self, workers: float) -> float:
        """Return the batch size of the greatest goodput that some workers can hold.

        Without bounds it is m0 x sqrt(fixed / (1 - fixed) x phi / m0), where the derivative is zero, whatever
        the number of workers.

        >>> Goodput(noise_scale=900, batch=100, fixed=0.5).best_batch(4)  # 100 x sqrt(1 x 9)
        300.0
        >>> Goodput(noise_scale=900, batch=100, fixed=0.5).best_batch(2)
        200.0
        """
        free = sqrt(self.fixed / (1 - self.fixed) * self.noise_scale / self.batch)
        return self.batch * max(1.0, min(free, workers))

    def gain(self, workers: float) -> float:
        """Return goodput with the best batch / with the requested one; 1 at base demand and below."""
        return self.goodput(1, self.best_batch(workers)) / self.batch
