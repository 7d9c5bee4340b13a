"""Jobs that share a machine: the second program of Synergy, 4.1.2, and the patterns of jobs."""

from collections import Counter
from collections.abc import Sequence

from hypothesis import example, given, settings
from hypothesis import strategies as st

from artist.policies.synergy.patterns import Jobs, Pattern, Site, Wish, assigned, patterns


def packed(wishes: Sequence[Wish], *sites: tuple[int, int, int, int]) -> list[list[Pattern]]:
    """Return the patterns of sites that serve every wish: GPUs, CPUs, memory, machines."""
    return patterns(tuple(wishes), tuple(Site(*site, (True,) * len(wishes)) for site in sites))


def left(wishes: Sequence[Wish], patterns: Sequence[Sequence[Pattern]]) -> int:
    """Return the number of jobs that no machine takes whole."""
    return sum(w.jobs for w in wishes) - sum(sum(p.jobs) * p.machines for site in patterns for p in site)


def test_jobs_that_want_much_are_paired_with_jobs_that_want_little():
    """4 CPUs a machine of 2 GPUs: 3 + 1 twice; two that want 3, or 1, together would waste two CPUs."""
    assert packed([Wish(1, 3, 0, 2), Wish(1, 1, 0, 2)], (2, 4, 0, 2)) == [[Pattern((1, 1), 2)]]


def test_memory_pairs_as_cpus_do():
    """The same with 4 bytes a machine."""
    assert packed([Wish(1, 0, 3, 2), Wish(1, 0, 1, 2)], (2, 0, 4, 2)) == [[Pattern((1, 1), 2)]]


def test_large_jobs_keep_their_room():
    """8 GPUs on two machines for 4 + 2 + 1 + 1: one has the 4, or a job would be torn apart."""
    wishes = [Wish(1, 1, 0, 2), Wish(2, 2, 0, 1), Wish(4, 4, 0, 1)]
    result = packed(wishes, (4, 4, 0, 2))
    assert sorted((p.jobs, p.machines) for p in result[0]) == [((0, 0, 1), 1), ((2, 1, 0), 1)]


def test_a_pattern_is_not_used_until_large_jobs_have_no_room():
    """Two machines of 4 for 4, 1, 1, 1: the three small ones want all CPUs, and still share one machine."""
    wishes = [Wish(1, 4, 0, 3), Wish(4, 0, 0, 1)]
    assert left(wishes, packed(wishes, (4, 12, 0, 2))) == 0


def test_whole_jobs_are_preferred_to_chosen_cpus():
    """Two of 2 GPUs want 3 CPUs each of a machine with 4: both go there; CPUs give way, not a whole job."""
    assert packed([Wish(2, 3, 0, 2)], (4, 4, 0, 1)) == [[Pattern((2,), 1)]]


def test_machines_serve_whom_they_may():
    """Two wishes, each served by one site only, whichever comes first."""
    wishes = [Wish(1, 1, 0, 1), Wish(1, 1, 0, 1)]
    first, second = Site(2, 2, 0, 1, (False, True)), Site(2, 2, 0, 1, (True, False))
    assert patterns(tuple(wishes), (first, second)) == [[Pattern((0, 1), 1)], [Pattern((1, 0), 1)]]
    assert patterns(tuple(wishes), (second, first)) == [[Pattern((1, 0), 1)], [Pattern((0, 1), 1)]]


def test_a_pattern_does_not_take_the_last_room_of_large_jobs():
    """Four machines of 4 for 4, 4, 2 and four of 1: one of 1 on each of three would tear a 4 apart."""
    wishes = [Wish(1, 6, 0, 4), Wish(2, 4, 0, 1), Wish(4, 24, 0, 2)]
    assert left(wishes, packed(wishes, (4, 12, 0, 4))) == 0


def test_jobs_that_fit_no_machine_are_left():
    """3 GPUs on machines of 2: for the caller to tear apart."""
    wishes = [Wish(3, 0, 0, 1), Wish(1, 0, 0, 1)]
    result = packed(wishes, (2, 0, 0, 2))
    assert sum(p.jobs[0] for p in result[0]) == 0
    assert left(wishes, result) == 1


def fewest_left(sizes: Sequence[int], machines: int, gpus: int) -> int:
    """Return the fewest jobs that are not whole, by trying everything: the smallest jobs are placed."""

    def fit(jobs: Sequence[int], free: tuple[int, ...]) -> bool:
        return not jobs or any(
            fit(jobs[1:], tuple(sorted((*free[:m], free[m] - jobs[0], *free[m + 1 :]))))
            for m in range(len(free))
            if free[m] >= jobs[0] and (m == 0 or free[m] != free[m - 1])
        )

    return next(n for n in range(len(sizes) + 1) if fit(sorted(sizes, reverse=True)[n:], (gpus,) * machines))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from([1, 1, 2, 2, 4, 8]), min_size=1, max_size=12), st.integers(1, 3))
@example([2, 8, 8, 8], 5)
@example([4, 2, 1, 1, 8, 4, 2, 2], 3)
def test_no_job_of_a_power_of_two_is_left_that_could_be_whole(sizes: list[int], machines: int):
    """The point of the program: as few fragmented jobs as trying everything finds."""
    while sum(sizes) > 8 * machines:
        sizes = sizes[1:]
    wishes = [Wish(size, size, 0, jobs) for size, jobs in sorted(Counter(sizes).items())]
    assert left(wishes, packed(wishes, (8, 8, 0, machines))) == fewest_left(sizes, machines, 8)


def test_jobs_stay_where_they_are():
    """Machine 7 has both of kind 0, machine 5 one of kind 1: dealt so that none of the three moves."""
    kinds = [Jobs(1, [10, 11]), Jobs(2, [20, 21])]
    site = ([5, 7], [Pattern((2, 0), 1), Pattern((0, 2), 1)])
    assert assigned(kinds, [site], {10: 7, 11: 7, 21: 5}) == {10: 7, 11: 7, 20: 5, 21: 5}


def test_the_gpus_that_stay_count_not_the_jobs():
    """One job of 4 GPUs on machine 0, two of 1 GPU on it: the pattern with the 4 stays, 4 > 2."""
    kinds = [Jobs(4, [1]), Jobs(1, [2, 3])]
    site = ([0, 1], [Pattern((0, 2), 1), Pattern((1, 0), 1)])
    assert assigned(kinds, [site], {1: 0, 2: 0, 3: 0}) == {1: 0, 2: 1, 3: 1}


def test_equal_jobs_on_a_machine_stay_and_others_follow_in_order():
    """Three alike on machine 0, two stay: the first two; the third and the new one go to machine 1."""
    assert assigned([Jobs(1, [1, 2, 3, 4])], [([0, 1], [Pattern((2,), 2)])], {1: 0, 2: 0, 3: 0}) == {
        1: 0,
        2: 0,
        3: 1,
        4: 1,
    }


def test_jobs_alike_do_not_change_places():
    """Two on each of two machines, not in order: dealt in order, all four would move."""
    site = ([0, 1], [Pattern((2,), 2)])
    assert assigned([Jobs(1, [1, 2, 3, 4])], [site], {1: 1, 2: 1, 3: 0, 4: 0}) == {1: 1, 2: 1, 3: 0, 4: 0}


def test_a_job_in_no_pattern_is_left():
    """Two alike, one seat: the second is left."""
    assert assigned([Jobs(1, [1, 2])], [([0], [Pattern((1,), 1)])], {}) == {1: 0}
