"""Jobs that run at known prices: the engine is told those that change, and no price is left out of date.

Up to 20 jobs on one GPU of each of two racks, so that many meet on the racks' uplinks; one comes, leaves or
moves at a time. What was told until then must equal the answer to "and all of them?" from nothing.
"""

import random

import pytest

from artist.core.cluster import Allocation, Group, Slice
from artist.core.job import Demand, JobSpec
from artist.engine.hypothetical import Hypothetical
from artist.performance.api import Changed
from artist.performance.couplings.crossing import Crosser, Kept, LinkTable, Sender
from artist.performance.effects.compute import Compute
from artist.performance.effects.input_stall import InputStall
from artist.performance.formulas.input_rate import Sensitivity
from artist.performance.placed import PlacedPerformance
from artist.testing.links import FABRIC, Rings, links_of, model
from artist.testing.tiny import tiny_cluster
from artist.units import NS_PER_S
from netmodels.api import Link

S = NS_PER_S
CLUSTER = tiny_cluster(24, 8, per_rack=12, memory_bandwidth_bytes_per_s=10**10)
PROFILES = {
    "half": model(S, S),  # computes 1 s, then sends 1 s on two GPUs
    "late": model(S, S // 20, hidden_ns=S // 5),  # sends 0.05 s, and has 0.2 s for that
    "quiet": model(S, S // 50, hidden_ns=S // 5),  # has ten times the time
}


class Told(Hypothetical):
    """Running jobs, with the prices told so far; see `artist.performance.api.Logged`."""

    def __init__(self, specs):
        self.held, self.prices, self.log = {}, {}, []
        super().__init__(specs, CLUSTER, self.held)

    def in_force(self, job):
        return self.prices.get(job)

    def crossed(self, since):
        return [(job, self.held.get(job)) for job in self.log[since:]]


class Moves:
    """What other jobs on the links take counts as sharing, not as contention."""

    def touched(self, changed, running):
        return ()

    def coupled(self, prices, running, alone):
        return {
            job: parts._replace(contention_ns=0, sharing_ns=parts.contention_ns)
            for job, parts in prices.items()
        }


def drawing():
    """Return what CPUs and memory do: jobs draw 3 of a machine's 10 GB/s, and lose half where all is used."""
    draws = Sensitivity((1e-9,), (1.0,), memory_bandwidth_bytes_per_s=3 * 10**9, bandwidth_loss=0.5)
    return InputStall(dict.fromkeys(PROFILES, draws), Compute())


KINDS = {
    "alone": dict,
    "own coupling": lambda: {"couplings": [Moves()]},
    "memory bandwidth": lambda: {"input_stall": drawing()},
    "half as fast": dict,
}


def performance(way, kind):
    slower = 1 + (kind == "half as fast")  # than links carry: it takes three jobs to overload one
    shared = links_of(way, CLUSTER, slower=slower)
    return PlacedPerformance(
        Rings(slower), FABRIC, FABRIC.system, PROFILES.__getitem__, contention=shared, **KINDS[kind]()
    )


def walk(way, kind, weights, *, seed=0, steps=40, mode=None, stays=0.3):
    """Let jobs come, move and leave; yield the jobs and those told at each step but the changed one."""
    rng = random.Random(seed)
    specs = [JobSpec(f"j{i}", 0, Demand(2), 10, S, rng.choices([*PROFILES], weights)[0]) for i in range(20)]
    told = Told(specs)
    along = performance(way, kind)
    for _ in range(steps):
        job = rng.randrange(len(specs))
        before = told.held.pop(job, None)
        told.prices.pop(job, None)
        if before is None or rng.random() < stays:
            pair = job // 2 if mode else rng.randrange(12)
            group = Group(f"g{pair}", ((pair, 1), (pair + 12, 1)), mode=mode) if mode else None
            told.held[job] = Allocation((Slice(pair, 1, 2), Slice(pair + 12, 1, 2)), group=group)
        told.log.append(job)
        found = along.reprice([Changed(job, before, told.held.get(job))], told)
        told.prices.update(found)
        everything = [Changed(each, None, held) for each, held in told.held.items()]
        now = Hypothetical(specs, CLUSTER, dict(told.held))
        assert told.prices == dict(performance(way, kind).reprice(everything, now))
        yield told, found.keys() - {job}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["average", "phases"])
@pytest.mark.parametrize("weights", [(1, 1, 1), (0, 1, 4), (1, 5, 20)])
def test_no_price_is_left_out_of_date(way, kind, weights):
    """Few and many jobs, of which none, some or all are slowed, whatever else happens to them."""
    sizes = [len(told.held) for told, _ in walk(way, kind, weights, stays=0.5)]
    assert min(sizes[2:]) <= 8 < max(sizes)


def test_a_bound_for_few_jobs_is_none_where_their_phases_count():
    """Two jobs on a link of 1 byte/ns offer 1.1 of it, and may take 1 and 10 times as long at no cost.

    On average the first has half of it, which is more than 0.1, and the other takes 1.1 times as long. In
    phases, busy always: packets of the first may wait behind those of the other.
    """
    assert not may_slow([(1, 0.1), (10, 1.0)], busy=0.5)
    assert may_slow([(1, 0.1), (10, 1.0)], busy=1.0)


@pytest.mark.parametrize(("slack", "slows"), [(1.124, True), (1.126, False)])
def test_the_bound_for_few_jobs_weighs_how_many_send(slack, slows):
    """Three jobs of half a link, each half of the time: both others with chance 1/4, 3/2 times as long.

    1 + 1/4 x 1/2 = 1.125.
    """
    assert may_slow([(slack, 0.5)] * 3, busy=0.5) is slows


def may_slow(jobs, busy):
    """Return whether jobs on one link of 1 byte/ns may be slowed, from (slack, load)."""
    link = Link("rack", 0, "out")
    senders = [Sender(None, 1.0, slack, busy, {0: load}) for slack, load in jobs]
    crossers = {job: Crosser(None, None, sender, 1.0, 1, 0) for job, sender in enumerate(senders)}
    table, told = LinkTable({link: 1.0}), Told([None] * len(jobs))
    table.number(link)
    told.log += crossers
    told.held.update(dict.fromkeys(crossers, "here"))
    kept = Kept(table, told, lambda job, spec, held: crossers[job])
    kept.follow(told)
    return kept.slows(crossers)


@pytest.mark.parametrize("mode", ["packed", "interleaved"])
def test_members_of_groups_are_told_as_well(mode):
    """Two jobs a group, on the same GPUs: what others on the links take makes their turns longer."""
    for told, _ in walk("average", "alone", (1, 1, 1), mode=mode):
        assert all(held.group for held in told.held.values())


def test_the_last_straw_is_told_to_all():
    """Jobs send 0.05 s an iteration and have 0.2 s: slowed by n others, they send for t = 1 / (1 - 0.05 n).

    From 16 others on that is more than 4 times as long, although 1 + 0.05 x 16 is not: all are told, both
    when the 17th comes and when it leaves.
    """
    told_all = 0
    for told, others in walk("average", "alone", (0, 1, 0), steps=100, stays=0.9):
        assert any(parts.contention_ns for parts in told.prices.values()) == (len(told.held) > 16)
        told_all += len(others) >= 16
    assert told_all > 5


def test_jobs_that_have_time_enough_are_not_told():
    """All send 0.02 s an iteration, and have 0.2 s for it: passages may take ten times as long at no cost.

    Even then each sends a fifth of the time, so beside 19 others passages take 1 + 19 x 0.2 = 4.8 times as
    long. All at once would take 20 times as long.
    """
    for told, others in walk("average", "alone", (0, 0, 1), seed=1):
        assert not others
        assert not any(parts.contention_ns for parts in told.prices.values())
