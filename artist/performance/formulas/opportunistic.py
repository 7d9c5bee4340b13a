"""Jobs packed on the same GPUs, some of which run only in the time that others leave idle. Pure formulas.

Jobs with promised GPUs share them as `artist.performance.formulas.packing` says, as if no other were there.
Opportunistic jobs share the rest of the time in the same way. They always get `MIN_SHARE`, or they
would never end beside a job that never pauses; nor do GPUs run kernels so exactly by priority.
"""

from collections.abc import Iterable
from math import fsum

MIN_SHARE = 0.01  # of the GPUs' time, as far as opportunistic jobs want it


def slowdowns(
    guaranteed: Iterable[float], opportunistic: Iterable[float], gpus: int = 1
) -> tuple[float, float]:
    """Return the slowdown of iterations, at least 1, of guaranteed and of opportunistic jobs.

    Parameters
    ----------
    guaranteed, opportunistic
        GPUs that each job would keep busy alone (`artist.performance.formulas.packing.slowdown`).
    gpus
        GPUs that they share.

    Examples
    --------
    Three quarters of the time are taken; a job that wants half of it gets a quarter:

    >>> slowdowns([0.75], [0.5])
    (1.0, 2.0)
    """
    wanted = fsum(opportunistic)
    kept = min(wanted, MIN_SHARE * gpus)
    busy = fsum(guaranteed)
    slower = max(1.0, busy / (gpus - kept))
    idle = max(gpus - busy / slower, kept)
    return slower, max(1.0, wanted / idle) if wanted else 1.0
