"""Interleaving of the jobs on one link: their iterations as circles that are rotated against each other.

The iteration of a job is rolled around a circle whose perimeter is its time; the times in which it sends are
arcs, with the share of the link that it uses. Jobs on one link are compared on a circle whose perimeter is a
common multiple of their iterations, so each fits a whole number of times. Rotating a job's circle
is shifting its iterations. The score of a link is 1 - the mean excess of the total sending rate over its
capacity, in multiples of the capacity: 1 if nothing collides.

Time is counted in steps: 120 (of 3 degrees) in the shortest iteration of a link, and iterations take whole
numbers of them. Of a larger common multiple only the first 64 of the shortest iteration count. Steps are
longer beside an iteration of more than 64 of the shortest, which then takes 64 x 120 of them; a job whose
iteration takes less than a step sends at its mean share.

Source: Rajasekaran et al., CASSINI, NSDI 2024, the geometric abstraction.

Differs from the paper: it solves for all rotations of a link at once; here circles are rotated one after
another, largest mean share first, each to the first of its best angles, and then again, to the middle of the
longest row of them, until nothing moves. For two circles that is exact to a step. For three or more, the
answer is seldom far from the best, but may miss a gap that only moving two at once would open. The middle
leaves a gap before and after each job's sending: jobs that touch would push each other.
"""

from collections.abc import Sequence
from math import gcd, lcm

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from artist.core.link_use import LinkName, LinkUse

Floats = npt.NDArray[np.float64]
_STEPS = 120
_MAX_STEPS = 64 * _STEPS
_MAX_ROTATIONS = 2 * _STEPS
_AT_ONCE = 1 << 16
_ROUNDS = 8
_SAME = 1e-9
Tied = Sequence[tuple[LinkUse, int]]
"""Jobs that keep their distance in time: link use and shift in ns of each."""


def rotations(link: LinkName, tied: Sequence[Tied]) -> list[int]:
    """Return the delay in ns of each of some sets of jobs on a link; the first has 0."""
    step_ns = _step_ns(tied)
    circles = [_circle(link, jobs, step_ns) for jobs in tied]
    sizes = [len(circle) for circle in circles]
    perimeter = _common(sizes)
    order = sorted(range(len(circles)), key=lambda n: (-circles[n].mean(), n))
    at = [0] * len(circles)
    total = _around(circles[order[0]], 0, perimeter)
    for place, n in enumerate(order[1:], 1):
        best, every = _best(total, circles[n], [sizes[other] for other in order[:place]])
        at[n] = 0 if best.all() else int(best.argmax()) * every
        total += _around(circles[n], at[n], perimeter)
    for _ in range(_ROUNDS):
        before = at.copy()
        for n in order[1:]:
            rest = total - _around(circles[n], at[n], perimeter)
            best, every = _best(rest, circles[n], sizes[:n] + sizes[n + 1 :])
            at[n] = at[n] if best.all() else _middle(best) * every
            total = rest + _around(circles[n], at[n], perimeter)
        if at == before:
            break
    return [round((step - at[0]) * step_ns) for step in at]


def score(link: LinkName, jobs: Tied) -> float:
    """Return the score of jobs with these shifts on a link: at most 1, which is without any collision."""
    step_ns = _step_ns([jobs])
    circles = [_circle(link, [job], step_ns) for job in jobs]
    perimeter = _common([len(circle) for circle in circles])
    together = sum(_around(circle, 0, perimeter) for circle in circles)
    return 1 - float(np.maximum(together - 1, 0).mean())


def _step_ns(tied: Sequence[Tied]) -> float:
    iterations_ns = [use.iteration_ns for jobs in tied for use, _ in jobs]
    return max(min(iterations_ns) / _STEPS, max(iterations_ns) / _MAX_STEPS)


def _common(perimeters: Sequence[int]) -> int:
    """Return the common perimeter of circles, in steps: their least common multiple, bounded."""
    return min(lcm(*perimeters), _MAX_STEPS)


def _circle(link: LinkName, jobs: Tied, step_ns: float) -> Floats:
    """Return the share of a link that jobs use together, by step, on the circle of their iterations."""
    arcs = [_arcs(link, use, shift_ns, max(1, round(use.iteration_ns / step_ns))) for use, shift_ns in jobs]
    perimeter = _common([len(circle) for circle in arcs])
    together: Floats = np.sum([_around(circle, 0, perimeter) for circle in arcs], axis=0)
    return together


def _arcs(link: LinkName, use: LinkUse, shift_ns: int, steps: int) -> Floats:
    """Return the mean share of a link that one shifted job uses in each step of its circle."""
    times, sent = [0.0], [0.0]  # sent since the start of the iteration, by time
    for start_ns, end_ns, share in use.spans.get(link, ()):
        times += [start_ns, end_ns]
        sent += [sent[-1], sent[-1] + share * (end_ns - start_ns)]
    edges = np.linspace(0, use.iteration_ns, steps + 1) - shift_ns
    rounds, within = np.divmod(edges, use.iteration_ns)
    upto = rounds * sent[-1] + np.interp(within, [*times, use.iteration_ns], [*sent, sent[-1]])
    arcs: Floats = np.diff(upto) * (steps / use.iteration_ns)
    return arcs


def _around(circle: Floats, steps: int, perimeter: int) -> Floats:
    """Return a circle rotated by some steps, repeated to a larger perimeter."""
    return np.resize(np.roll(circle, steps), perimeter)


def _best(rest: Floats, circle: Floats, others: Sequence[int]) -> tuple[npt.NDArray[np.bool_], int]:
    """Return a mask of the best rotations of a circle, shape (rotations,), and the steps between them.

    The best collide least with the rest. Of all that make a difference, at most 240 are tried.

    Parameters
    ----------
    others
        Perimeters of the circles that are the rest.
    """
    differ = gcd(_common(others), len(circle))
    every = -(-differ // _MAX_ROTATIONS)
    rounds = np.resize(circle, len(rest) + len(circle))  # from its nth step before the last: rotated by n
    rotated = sliding_window_view(rounds, len(rest))[len(circle) : len(circle) - differ : -every]
    many = max(1, _AT_ONCE // len(rest))
    excess = np.concatenate(
        [np.maximum(rest - 1 + rotated[n : n + many], 0).mean(axis=1) for n in range(0, len(rotated), many)]
    )
    best: npt.NDArray[np.bool_] = excess <= excess.min() + _SAME
    return best, every


def _middle(best: npt.NDArray[np.bool_]) -> int:
    """Return the middle of the longest row of best rotations of a circle, of which some are not."""
    count = len(best)
    first = int((~best).argmax())  # no row goes across it
    longest, length, row = 0, 0, 0
    for step in range(first + 1, first + 1 + count):
        row = row + 1 if best[step % count] else 0
        if row > length:
            longest, length = step, row
    return (longest - length // 2) % count
