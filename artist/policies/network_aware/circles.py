"""Jobs on one link as circles that turn against each other: how well their sending interleaves.

The iteration of a job is rolled around a circle whose perimeter is its time; the times in which it sends are
arcs, with the share of the link that it uses. Jobs on one link are compared on a circle whose perimeter is a
common multiple of their iterations, so each goes around a whole number of times. Turning a job's circle is
shifting its iterations. The score of a link is 1 - the mean excess over its capacity of what all send
together, in multiples of the capacity: 1 if nothing collides.

Time is counted in steps: 120 (of 3 degrees) in the shortest iteration of a link, and iterations take whole
numbers of them. Of a larger common multiple only the first 64 of the shortest iteration count.

Source: Rajasekaran et al., CASSINI, NSDI 2024, the geometric abstraction.

Differs from the paper: it solves for all rotations of a link at once; here circles are turned one after
another, largest mean share first, each to the first of its best angles, and then again, to the middle of the
longest row of them, until nothing moves. For two circles that is exact to a step. For three or more, what is
found is seldom far from the best, but may miss a gap that only moving two at once would open. The middle
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
_MAX_TURNS = 2 * _STEPS
_AT_ONCE = 1 << 16
_ROUNDS = 8
_SAME = 1e-9
Tied = Sequence[tuple[LinkUse, int]]
"""Jobs that keep their distance in time: what each sends, and its shift in ns."""


def turns(link: LinkName, tied: Sequence[Tied]) -> list[int]:
    """Return by how many ns later each of some sets of jobs should begin on a link; the first by 0."""
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
    return [round((each - at[0]) * step_ns) for each in at]


def score(link: LinkName, jobs: Tied) -> float:
    """Return how well jobs with these shifts share a link: at most 1, which is without any collision."""
    step_ns = _step_ns([jobs])
    circles = [_circle(link, [job], step_ns) for job in jobs]
    perimeter = _common([len(circle) for circle in circles])
    together = sum(_around(circle, 0, perimeter) for circle in circles)
    return 1 - float(np.maximum(together - 1, 0).mean())


def _step_ns(tied: Sequence[Tied]) -> float:
    return min(use.iteration_ns for jobs in tied for use, _ in jobs) / _STEPS


def _common(perimeters: Sequence[int]) -> int:
    """Return the perimeter, in steps, of the circle that all go around whole times."""
    return min(lcm(*perimeters), max(_MAX_STEPS, *perimeters))


def _circle(link: LinkName, jobs: Tied, step_ns: float) -> Floats:
    """Return the share of a link that jobs use together, by step, on the circle of their iterations."""
    own = [_arcs(link, use, shift_ns, max(1, round(use.iteration_ns / step_ns))) for use, shift_ns in jobs]
    perimeter = _common([len(each) for each in own])
    together: Floats = np.sum([_around(each, 0, perimeter) for each in own], axis=0)
    return together


def _arcs(link: LinkName, use: LinkUse, shift_ns: int, steps: int) -> Floats:
    """Return the mean share of a link that one shifted job uses in each step of its circle."""
    times, sent = [0.0], [0.0]  # what has been sent by when
    for start_ns, end_ns, share in use.spans.get(link, ()):
        times += [start_ns, end_ns]
        sent += [sent[-1], sent[-1] + share * (end_ns - start_ns)]
    edges = np.linspace(0, use.iteration_ns, steps + 1) - shift_ns
    rounds, within = np.divmod(edges, use.iteration_ns)
    upto = rounds * sent[-1] + np.interp(within, [*times, use.iteration_ns], [*sent, sent[-1]])
    arcs: Floats = np.diff(upto) * (steps / use.iteration_ns)
    return arcs


def _around(circle: Floats, turn: int, perimeter: int) -> Floats:
    """Return a circle turned by some steps, as often as it goes around a larger one."""
    return np.resize(np.roll(circle, turn), perimeter)


def _best(rest: Floats, circle: Floats, others: Sequence[int]) -> tuple[npt.NDArray[np.bool_], int]:
    """Return which turns of a circle collide least with the rest, shape (turns,), and the steps between.

    Of all turns that make a difference, at most 240 are tried.

    Parameters
    ----------
    others
        Perimeters of the circles that are the rest.
    """
    differ = gcd(_common(others), len(circle))
    every = -(-differ // _MAX_TURNS)
    rounds = np.resize(circle, len(rest) + len(circle))  # turned by n steps from its nth step before the last
    turned = sliding_window_view(rounds, len(rest))[len(circle) : len(circle) - differ : -every]
    many = max(1, _AT_ONCE // len(rest))
    excess = np.concatenate(
        [np.maximum(rest - 1 + turned[n : n + many], 0).mean(axis=1) for n in range(0, len(turned), many)]
    )
    best: npt.NDArray[np.bool_] = excess <= excess.min() + _SAME
    return best, every


def _middle(best: npt.NDArray[np.bool_]) -> int:
    """Return the middle of the longest row of best turns of a circle, of which some are not."""
    turns = len(best)
    first = int((~best).argmax())  # no row goes across it
    longest, length, row = 0, 0, 0
    for turn in range(first + 1, first + 1 + turns):
        row = row + 1 if best[turn % turns] else 0
        if row > length:
            longest, length = turn, row
    return (longest - length // 2) % turns
