"""Themis as in the program that ran on the testbed of Muri's authors: Gavel's rounds in mixed units.

In plain words: as `artist.policies.themis.gavel`, but the isolated speed of a job, in iterations per second,
is its isolated part of the time, a number without unit, with 1/N of the GPUs rounded up. So rho is multiplied
by the iteration time: jobs with long iterations look worse off.

Source: Zhao et al., Multi-Resource Interleaving for Deep Learning Training (Muri), SIGCOMM 2022, section 6.1;
Rivendile/Muri @4e69a78, cluster_exp/run.py (rounds) and simulator/run_sim.py (events).
"""

import numpy as np
from pydantic.dataclasses import dataclass

from artist.core.arrays import Floats
from artist.policies.parts.parameters import STRICT
from artist.policies.themis.gavel import ThemisGavel


@dataclass(config=STRICT)
class ThemisMuri(ThemisGavel):
    """Rounds by max-min shares of finish-time fairness, in the units of the program of Muri's authors."""

    def isolated_speed(self, part: float, gpus: Floats, iteration_s: Floats) -> Floats:
        """Return the part of the time that jobs have alone on their equal part of the GPUs, rounded up."""
        speed: Floats = np.minimum(1.0, np.ceil(part) / gpus)
        return speed
