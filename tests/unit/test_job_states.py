"""The states of a job: pending, waiting, running, finished, and what may follow each."""

from itertools import product

import pytest

from artist.engine.jobs import FINISHED, LEGAL, PENDING, RUNNING, WAITING, JobTable
from artist.testing.tiny import job, on

WAYS = {
    WAITING: [lambda table: table.arrive(0, 0), lambda table: table.release(0, 0)],
    RUNNING: [lambda table: table.hold(0, on((0, 1)), 0, 0, 0)],
    FINISHED: [lambda table: table.end(0, 0)],
}


def table_in(state):
    """Return a table of one job that came to a state by the legal way."""
    table = JobTable([job("a")])
    steps = [WAYS[WAITING][0], WAYS[RUNNING][0], WAYS[FINISHED][0]]
    for step in steps[: (PENDING, WAITING, RUNNING, FINISHED).index(state)]:
        step(table)
    return table


@pytest.mark.parametrize(("before", "after"), list(product(range(4), WAYS)))
def test_only_legal_states_follow(before, after):
    """Each pair of states is tried: what the table of legal states lacks is an error of ours, at once."""
    reached = []
    for way in WAYS[after]:
        table = table_in(before)
        try:
            way(table)
        except AssertionError:
            continue
        reached.append(table.status[0])
    goes_on = before == after == RUNNING  # on another allocation
    assert (after in reached) == (after in LEGAL[before] or goes_on)
