"""How long jobs that wait are blocked: the blocking index of Muri (SIGCOMM 2022, section 6.1)."""

from array import array

_ONE = 1 << 120  # parts of 1: a job that lasts 100 years still has a rate of 2^58 a ns


class Blocked:
    """The jobs that wait, and the mean over them of time waited in their lives / compute time of their rest.

    The ratio of a waiting job grows at the rate 1 / rest, so the mean at any time follows from two sums. They
    are whole numbers, so they return to 0 exactly, however many jobs came and went.
    """

    def __init__(self, n_jobs: int) -> None:
        self._waited_ns = array("q", bytes(8 * n_jobs))  # before the present wait
        self._waiting: dict[int, tuple[int, int]] = {}  # job -> start of its wait, rate
        self._rate = 0  # sum over those that wait
        self._at_zero = 0  # sum of their ratios, carried back to time 0

    def wait(self, job: int, now: int, rest_ns: int) -> None:
        """Start the wait of a job whose remaining work computes for this long."""
        rate = _ONE // rest_ns
        self._waiting[job] = now, rate
        self._rate += rate
        self._at_zero += rate * (self._waited_ns[job] - now)

    def go(self, job: int, now: int) -> None:
        """End the wait of a job."""
        since, rate = self._waiting.pop(job)
        self._rate -= rate
        self._at_zero -= rate * (self._waited_ns[job] - since)
        self._waited_ns[job] += now - since

    def index(self, start_ns: int, end_ns: int) -> float:
        """Return the mean over a span (possibly empty) without starts or ends of waits; 0 if no job waits.

        One job waits from 0 s on, its rest takes 4 s: 0.75 at 3 s, and 0.5 on average from 1 s to 3 s.

        >>> blocked = Blocked(1)
        >>> blocked.wait(0, 0, 4)
        >>> blocked.index(3, 3), blocked.index(1, 3)
        (0.75, 0.5)
        """
        twice = 2 * self._at_zero + self._rate * (start_ns + end_ns)
        return twice / (2 * _ONE * len(self._waiting)) if self._waiting else 0.0
