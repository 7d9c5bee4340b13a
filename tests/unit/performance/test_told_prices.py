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
from artist.performance.couplings.crossing import Kept, LinkTable, LinkUser
from artist.performance.effects.compute import Compute
from artist.performance.effects.input_stall import InputStall
from artist.performance.formulas.input_rate import Sensitivity
from artist.performance.placed import PlacedPerformance
from artist.testing.links import FABRIC, Rings, model
from artist.testing.tiny import tiny_cluster
from artist.units import NS_PER_S
from netmodels.api import Link, LinkLoad, SystemSettings
from netmodels.contention.contention import Contention

S = NS_PER_S
CLUSTER = tiny_cluster(24, 8, per_rack=12, memory_bandwidth_bytes_per_s=10**10)
PROFILES = {
    "half": model(S, S),  # computes 1 s, then sends 1 s on two GPUs
    "late": model(S, S // 20, hidden_ns=S // 5),  # sends 0.05 s, and has 0.2 s for that
    "quiet": model(S, S // 50, hidden_ns=S // 5),  # has ten times the time
}

LIGHT = model(S // 1000, S // 10)
"""Sends 0.1 s worth of an uplink; its rings take ten times as long."""


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
    """Time taken by other jobs on the links counts as sharing, not as contention."""

    def touched(self, changed, running):
        return ()

    def coupled(self, prices, running, alone):
        return {
            job: parts._replace(contention_ns=0, sharing_ns=parts.contention_ns)
            for job, parts in prices.items()
        }


def drawing():
    """Return a machine's bandwidth model: jobs draw 3 of 10 GB/s, and lose half if all is used."""
    draws = Sensitivity((1e-9,), (1.0,), memory_bandwidth_bytes_per_s=3 * 10**9, bandwidth_loss=0.5)
    return InputStall(dict.fromkeys(PROFILES, draws), Compute())


KINDS = {
    "alone": dict,
    "own coupling": lambda: {"couplings": [Moves()]},
    "memory bandwidth": lambda: {"input_stall": drawing()},
    "half as fast": dict,
    "uneven": dict,
}


class Slower(Rings):
    """Rings that take longer than links carry what they send: some models', or all."""

    def __init__(self, times):
        super().__init__()
        self._times = times

    def parts(self, profile, shape, fabric, system):
        self._slower = self._times.get(profile, 1)
        return super().parts(profile, shape, fabric, system)


TIMES = {"half as fast": dict.fromkeys(PROFILES.values(), 2), "uneven": {PROFILES["quiet"]: 10}}


def contention(way, machines, network):
    """Return shared links by the mean field, or at flow level: no packet is followed."""
    return Contention(
        "packets" if way == "flow_level" else way, machines, FABRIC, SystemSettings(), network, 0
    )


def performance(way, kind):
    network = Slower(TIMES.get(kind, {}))
    machines = [(m.rack, number, m.type, m.gpus) for number, m in enumerate(CLUSTER.machines)]
    shared = contention(way, machines, network)
    return PlacedPerformance(
        network, FABRIC, FABRIC.system, PROFILES.__getitem__, contention=shared, **KINDS[kind]()
    )


def walk(way, kind, weights, *, seed=0, steps=40, mode=None, stays=0.3):
    """Let jobs come, move and leave, some at once; yield all and those told besides the changed ones."""
    rng = random.Random(seed)
    specs = [JobSpec(f"j{i}", 0, Demand(2), 10, S, rng.choices([*PROFILES], weights)[0]) for i in range(20)]
    told = Told(specs)
    along = performance(way, kind)
    for _ in range(steps):
        changed = []
        for job in rng.sample(range(len(specs)), rng.choice((1, 1, 1, 6))):
            before = told.held.pop(job, None)
            told.prices.pop(job, None)
            if before is None or rng.random() < stays:
                pair = job // 2 if mode else rng.randrange(12)
                group = Group(f"g{pair}", ((pair, 1), (pair + 12, 1)), mode=mode) if mode else None
                told.held[job] = Allocation((Slice(pair, 1, 2), Slice(pair + 12, 1, 2)), group=group)
            told.log.append(job)
            changed.append(Changed(job, before, told.held.get(job)))
        result = along.reprice(changed, told)
        told.prices.update(result)
        everything = [Changed(value, None, held) for value, held in told.held.items()]
        now = Hypothetical(specs, CLUSTER, dict(told.held))
        assert told.prices == dict(performance(way, kind).reprice(everything, now))
        yield told, result.keys() - {item.job for item in changed}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["mean_field", "flow_level"])
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


@pytest.mark.parametrize(("slack", "slows"), [(1.49, True), (1.51, False)])
def test_the_bound_for_few_jobs_weighs_the_number_of_senders(slack, slows):
    """Three jobs of half a link, each half of the time: one other on average, with at most half of it."""
    assert may_slow([(slack, 0.5)] * 3, busy=0.5) is slows


@pytest.mark.parametrize(("slack", "slows"), [(4.95, True), (5.05, False)])
def test_the_bound_for_many_jobs_is_the_bandwidth_left_by_others(slack, slows):
    """Eight jobs that always send a tenth of a link leave 0.2 of it: one that asks for all takes five times
    as long, not 1 + 0.8 times. The eight have their tenth.
    """
    assert may_slow([(1.01, 0.1)] * 8 + [(slack, 1.0)], busy=1.0) is slows


@pytest.mark.parametrize(("slack", "slows"), [(4.95, True), (5.05, False)])
def test_the_bound_for_many_jobs_is_an_equal_share(slack, slows):
    """Nine greedy jobs that send half of the time leave one that does 1 / (1 + 8 / 2) = a fifth at least."""
    assert may_slow([(slack, 1.0)] * 9, busy=0.5) is slows


def may_slow(jobs, busy):
    """Return whether jobs on one link of 1 byte/ns may be slowed, from (slack, load, load elsewhere)."""
    link = Link("rack", 0, "out")
    senders = [LinkLoad(None, 1.0, slack, busy, {0: load}, max([load, *most])) for slack, load, *most in jobs]
    users = {job: LinkUser(None, None, sender, 1.0, 1, 0) for job, sender in enumerate(senders)}
    table, told = LinkTable({link: 1.0}), Told([None] * len(jobs))
    told.log += users
    told.held.update(dict.fromkeys(users, "here"))
    kept = Kept(table, told, lambda job, spec, held: users[job])
    kept.follow(told)
    return kept.slows(users)


@pytest.mark.parametrize("way", ["mean_field", "flow_level"])
def test_all_that_leave_at_once_are_counted(way):
    """A job that may send for 2.5 times as long sends beside seven that use a tenth of the uplink, always.

    All offer 1.7 of it, but in max-min shares it may have an eighth: the one is slower than alone, until the
    seven leave.
    """
    network = Slower({LIGHT: 10})
    profiles = {"one": model(S, S // 10, hidden_ns=S // 4), "light": LIGHT}
    machines = [(m.rack, number, m.type, m.gpus) for number, m in enumerate(CLUSTER.machines)]
    shared = contention(way, machines, network)
    links = PlacedPerformance(network, FABRIC, SystemSettings(), profiles.__getitem__, contention=shared)
    specs = [JobSpec("one", 0, Demand(2), 10, S, "one")]
    specs += [JobSpec(f"j{i}", 0, Demand(2), 10, S // 1000, "light") for i in range(7)]
    told = Told(specs)
    told.held.update({job: Allocation((Slice(job, 1), Slice(job + 12, 1))) for job in range(8)})
    told.log += range(8)
    told.prices.update(links.reprice([Changed(job, None, held) for job, held in told.held.items()], told))
    assert told.prices[0].contention_ns > 0
    gone = [Changed(job, told.held.pop(job), None) for job in range(1, 8)]
    told.log += range(1, 8)
    assert links.reprice(gone, told)[0].contention_ns == 0


@pytest.mark.parametrize("mode", ["packed", "interleaved"])
def test_members_of_groups_are_repriced_as_well(mode):
    """Two jobs a group, on the same GPUs: what others on the links take makes their turns longer."""
    for told, _ in walk("mean_field", "alone", (1, 1, 1), mode=mode):
        assert all(held.group for held in told.held.values())


def test_a_job_that_saturates_a_link_reprices_all():
    """Jobs send 0.05 s an iteration and have 0.2 s: slowed by n others, they send for t = 1 / (1 - 0.05 n).

    From 16 others on that is more than 4 times as long, although 1 + 0.05 x 16 is not: all are told, both
    when the 17th comes and when it leaves.
    """
    told_all = 0
    for told, others in walk("mean_field", "alone", (0, 1, 0), steps=100, stays=0.9):
        assert any(parts.contention_ns for parts in told.prices.values()) == (len(told.held) > 16)
        told_all += len(others) >= 16
    assert told_all > 5


def test_jobs_with_slack_are_not_repriced():
    """All send 0.02 s an iteration, and have 0.2 s for it: passages may take ten times as long at no cost.

    Even then each sends a fifth of the time, so beside 19 others passages take 1 + 19 x 0.2 = 4.8 times as
    long. All at once would take 20 times as long.
    """
    for told, others in walk("mean_field", "alone", (0, 0, 1), seed=1):
        assert not others
        assert not any(parts.contention_ns for parts in told.prices.values())
