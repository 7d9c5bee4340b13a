"""The next user is the one with the smallest holdings; a user's own jobs keep their order."""

import random

import pytest

from artist.core.job import Demand
from artist.policies.parts.user_queues import First, Holdings, UserQueues

ONE, TWO = Demand(1), Demand(2)


def by_gpus(gpus, cpus):
    return (gpus,)


@pytest.fixture
def holdings():
    """Holdings by which users rank by their GPUs."""
    return Holdings(by_gpus)


def queues_of(holdings, *jobs):
    """Return queues with jobs 0, 1, ... of these users."""
    queues = UserQueues(holdings)
    for number, user in enumerate(jobs):
        queues.push(number, user, ONE)
    return queues


def served(queues, holdings, n, gpus=1):
    """Start the next n jobs, of so many GPUs each, and return their numbers."""
    order = []
    for _ in range(n):
        first = queues.next()
        order.append(first.job)
        queues.take(first.user)
        holdings.hold(first.user, gpus, 0)
    return order


def test_the_user_with_the_smallest_share_is_next(holdings):
    """U has jobs 0 to 2, v 3 and 4. 0 (tie, first job), 3 (u holds 1, v 0), 1 (tie at 1), 4, 2."""
    queues = queues_of(holdings, "u", "u", "u", "v", "v")
    assert served(queues, holdings, 5) == [0, 3, 1, 4, 2]
    assert queues.next() is None


def test_one_user_is_served_in_order_of_arrival(holdings):
    """Whatever the user holds: 0, 1, 2, as FIFO."""
    assert served(queues_of(holdings, "u", "u", "u"), holdings, 3) == [0, 1, 2]


def test_equal_users_come_by_their_first_job(holdings):
    """V's first job is 0, u's 1, though u < v by name."""
    assert queues_of(holdings, "v", "u").next().user == "v"


def test_returned_resources_count_at_once(holdings):
    """U holds 2, v 1: v is next; when u gives 2 back, it holds 0 and is."""
    queues = queues_of(holdings, "u", "v")
    holdings.hold("u", 2, 0)
    holdings.hold("v", 1, 0)
    assert queues.next().user == "v"
    holdings.give("u", 2, 0)
    assert queues.next().user == "u"


def test_rank_is_defined_by_the_policy():
    """U holds 1 GPU and 9 CPUs, v 2 GPUs and 1 CPU: by GPUs u is next, by CPUs v."""
    for rank, next_user in ((by_gpus, "u"), (lambda gpus, cpus: (cpus,), "v")):
        holdings = Holdings(rank)
        holdings.hold("u", 1, 9)
        holdings.hold("v", 2, 1)
        assert queues_of(holdings, "u", "v").next().user == next_user


def test_a_user_passed_over_waits_until_something_changes(holdings):
    """U is first and does not fit: v, then no user; new jobs behind u's first change nothing."""
    queues = queues_of(holdings, "u", "v")
    queues.pass_over("u")
    assert queues.next().user == "v"
    queues.pass_over("v")
    queues.push(2, "u", ONE)
    holdings.hold("w", 1, 0)
    assert queues.next() is None
    queues.look_again()
    assert queues.next().job == 0


def test_a_user_not_next_may_be_removed(holdings):
    """v, who is second, is left out: after u's job none is left."""
    queues = queues_of(holdings, "u", "v")
    assert queues.next().user == "u"
    queues.pass_over("v")
    assert served(queues, holdings, 1) == [0]
    assert queues.next() is None


def test_a_user_passed_over_whose_only_job_is_taken_is_forgotten(holdings):
    """Nothing of u is left to look at again."""
    queues = queues_of(holdings, "u")
    queues.pass_over("u")
    queues.take("u")
    queues.look_again()
    assert queues.next() is None


def test_all_users_whose_jobs_ask_for_the_same_are_passed_over_at_once(holdings):
    """U and v ask for 1 GPU, w for 2: w's job 2 is next, then none; 2 may fit again, then all: 2, 0, 1."""
    queues = queues_of(holdings, "u", "v")
    queues.push(2, "w", TWO)
    queues.pass_over_alike(ONE)
    assert queues.next().user == "w"
    queues.pass_over_alike(TWO)
    assert queues.next() is None
    queues.look_again(lambda demand: demand == TWO)
    assert served(queues, holdings, 1) == [2]
    assert queues.next() is None
    queues.look_again()
    assert served(queues, holdings, 2) == [0, 1]


def test_the_first_job_of_a_user_is_tried_even_after_an_equal_demand_failed(holdings):
    """V's job 0 of 1 GPU does not fit; u arrives with one like it, so v, who is before u, is tried again."""
    queues = queues_of(holdings, "v")
    queues.pass_over_alike(ONE)
    queues.push(1, "u", ONE)
    assert served(queues, holdings, 2) == [0, 1]


def test_frequent_updates_do_not_grow_the_queue():
    """U and v wait while u's holdings change 10,000 times: few entries, not 10,000; v, with less, is next."""
    holdings = Holdings(by_gpus)
    queues = queues_of(holdings, "u", "v")
    for _ in range(5000):
        holdings.hold("u", 1, 0)
        holdings.hold("u", 1, 0)
        holdings.give("u", 1, 0)
    assert queues.next().user == "v"
    assert sum(map(len, [queues._heads, *(alike.heap for alike in queues._alike.values())])) < 300


def test_a_start_ranks_few_of_many_users():
    """1,000 users wait and 10 start jobs: some ranks a start, where to rank all again takes 10,000."""
    ranked = []
    holdings = Holdings(lambda gpus, cpus: ranked.append(gpus) or (gpus,))
    queues = queues_of(holdings, *map(str, range(1000)))
    ranked.clear()
    served(queues, holdings, 10)
    assert len(ranked) < 100


def test_a_job_pushed_to_the_front_is_its_users_first_and_is_tried(holdings):
    """U's job 0 was passed over; the aborted job 5 of u goes before it, and may fit."""
    queues = queues_of(holdings, "u")
    queues.pass_over("u")
    queues.push_front(5, "u", ONE)
    assert served(queues, holdings, 2) == [5, 0]


def test_a_job_that_comes_back_goes_behind_the_earlier_ones(holdings):
    """Of u's jobs 4 and 8 wait; 6 comes back between them, 2 before them, and is tried at once."""
    queues = UserQueues(holdings)
    for job in (4, 8):
        queues.push(job, "u", ONE)
    queues.pass_over("u")
    queues.push(6, "u", ONE)
    assert queues.next() is None
    queues.push(2, "u", ONE)
    assert served(queues, holdings, 4) == [2, 4, 6, 8]


def test_two_queues_rank_by_the_same_holdings(holdings):
    """U starts a job of the first queue; in the second, where u's job is the older, v is next then."""
    first, second = queues_of(holdings, "u"), queues_of(holdings, "u", "v")
    assert second.next().user == "u"
    served(first, holdings, 1)
    assert second.next().user == "v"


def test_the_length_is_the_number_of_jobs(holdings):
    """Three jobs of two users, one taken: 2."""
    queues = queues_of(holdings, "u", "u", "v")
    queues.take("u")
    assert len(queues) == 2


def test_it_is_a_scan_of_all_users_made_cheap(holdings):
    """4,000 random calls: next is always the least (GPUs held, first job) of users not passed over."""
    draw, queues = random.Random(0), UserQueues(holdings)
    waiting, held = {}, dict.fromkeys("uvwx", 0)
    alone, alike = set(), set()  # users, and what jobs ask for, that are passed over
    for number in range(4000):
        user, demand = draw.choice("uvwx"), draw.choice([ONE, TWO])
        what = draw.choice(
            ["push", "push", "front", "start", "start", "over", "alike", "give", "again", "some"]
        )
        least = min(
            (
                First((held[u],), jobs[0][0], u, jobs[0][1])
                for u, jobs in waiting.items()
                if u not in alone and jobs[0][1] not in alike
            ),
            default=None,
        )
        assert queues.next() == least
        assert len(queues) == sum(map(len, waiting.values()))
        if what == "push" and user in waiting:
            queues.push(number, user, demand)
            waiting[user].append((number, demand))
        elif what in ("push", "front"):
            queues.push_front(number, user, demand)
            waiting.setdefault(user, []).insert(0, (number, demand))
            alone.discard(user)
            alike.discard(demand)
        elif what == "start" and least:
            queues.take(least.user)
            waiting[least.user].pop(0)
            alike -= {demand for _, demand in waiting[least.user][:1]}
            waiting = {u: jobs for u, jobs in waiting.items() if jobs}
            holdings.hold(least.user, 2, 0)
            held[least.user] += 2
        elif what == "over" and user in waiting:
            queues.pass_over(user)
            alone.add(user)
        elif what == "alike" and least:
            queues.pass_over_alike(least.demand)
            alike.add(least.demand)
        elif what == "give" and held[user]:
            holdings.give(user, 1, 0)
            held[user] -= 1
        elif what == "again":
            queues.look_again()
            alone.clear()
            alike.clear()
        elif what == "some":
            queues.look_again(lambda value: value == ONE)
            alone -= {u for u in alone if waiting[u][0][1] == ONE}
            alike.discard(ONE)
