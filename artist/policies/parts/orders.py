"""Orders: who comes first. Shared by the policies.

An order gives each job a key; the smaller key comes first, and jobs with equal keys come in order of
arrival. The durations that keys are made of are what the policy believes (`estimates`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from artist.core.view import JobColumns

Ints = npt.NDArray[np.int64]
Keys = Ints | npt.NDArray[np.float64]
OrderName = Literal["fifo", "sjf", "srtf", "srsf", "las", "las2d"]


@dataclass(frozen=True, slots=True)
class Order:
    """A named order.

    Attributes
    ----------
    key
        Keys of shape (n,) for n jobs.
    knows_durations
        Whether the key needs them.
    """

    name: OrderName
    key: Callable[[JobColumns], Keys]
    knows_durations: bool


def _remaining_service(jobs: JobColumns) -> Keys:
    return jobs.remaining_ns.astype(np.float64) * np.maximum(jobs.gpus, 1)


ORDERS: Mapping[OrderName, Order] = {
    order.name: order
    for order in (
        Order("fifo", lambda jobs: jobs.job, False),  # first come, first served
        Order("sjf", lambda jobs: jobs.ideal_ns, True),  # shortest job
        Order("srtf", lambda jobs: jobs.remaining_ns, True),  # shortest remaining time
        Order("srsf", _remaining_service, True),  # shortest remaining service: time x GPUs
        Order("las", lambda jobs: jobs.held_ns, False),  # least attained time
        Order("las2d", lambda jobs: jobs.attained_gpu_ns, False),  # least attained time x GPUs
    )
}


def ranking(keys: Keys) -> Ints:
    """Return the positions of n jobs from first to last, shape (n,); equal keys keep their order."""
    return np.argsort(keys, kind="stable")
