"""The smallest set of jobs that give up enough: the same answer set by set and by size, and in time."""

from itertools import combinations
from time import process_time

from hypothesis import given
from hypothesis import strategies as st

from artist.policies.synergy.smallest_set import smallest_set

AMOUNTS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=12)


def first_of_the_smallest(gives, cpus, memory):
    """Return the answer by its definition."""
    for count in range(1, len(gives) + 1):
        for some in combinations(range(len(gives)), count):
            if sum(gives[i][0] for i in some) >= cpus and sum(gives[i][1] for i in some) >= memory:
                return list(some)
    return list(range(len(gives)))


@given(gives=AMOUNTS, cpus=st.integers(-3, 20), memory=st.integers(-3, 20))
def test_it_is_the_first_of_the_smallest_sets(gives, cpus, memory):
    """Up to 12 jobs, so both ways are gone: 8 are tried set by set; something is lacking."""
    if cpus > 0 or memory > 0:
        assert list(smallest_set(gives, cpus, memory)) == first_of_the_smallest(gives, cpus, memory)


def test_a_set_that_needs_both_kinds_of_jobs():
    """Nine jobs give 2 CPUs or 5 bytes each; for 3 CPUs and 9 bytes it takes two of each: the first ones."""
    gives = [(2, 0)] * 5 + [(0, 5)] * 4
    assert list(smallest_set(gives, 3, 9)) == [0, 1, 5, 6]


def test_many_jobs_take_no_time():
    """512 jobs that give 1 CPU and 1 byte, or 2 CPUs: 20 of them for 38 CPUs; of sets there are 10^35."""
    gives = [(1, 1), (2, 0)] * 256
    began = process_time()
    chosen = smallest_set(gives, 38, 2)
    assert process_time() - began < 1
    assert len(chosen) == 20
    assert sum(gives[i][0] for i in chosen) == 38
