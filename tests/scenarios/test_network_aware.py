"""A policy made aware of the network: places that share no link, shifts, and all that it leaves alone."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from artist.core.cluster import CapacityEvent, Cluster, Group
from artist.core.iteration import IterationParts
from artist.performance.placed import PlacedPerformance
from artist.policies.antman.policy import AntMan
from artist.policies.basic.ordered import Ordered
from artist.policies.coda.policy import Coda
from artist.policies.network_aware.policy import NetworkAware
from artist.run.config import PerformanceConfig
from artist.run.notes import warn_without_links
from artist.testing.links import FABRIC, Rings, links_of, model
from artist.testing.tiny import PlainPerformance, Scripted, job, on, run_checked, tiny_cluster
from artist.units import seconds_to_ns
from netmodels.contention.transfers import JobTraffic
from netmodels.fabric.links import Link

ONE_S, HALF_S = seconds_to_ns(1), seconds_to_ns(0.5)
RACKS = tiny_cluster(8, 2, per_rack=2)  # four racks of two machines of two GPUs


class Uplinks(PlainPerformance):
    """An iteration of 1 s, of which the last 0.4 s fill the uplinks of the racks that a job leaves.

    Two jobs on an uplink take 0.5 s longer unless they begin 0.4 to 0.6 s apart. `sends` is that 0.4.
    """

    sends = 0.4
    capacity = {Link("rack", rack, way): 1.0 for rack in range(4) for way in ("out", "in")}

    def sending(self, spec, allocation, cluster):
        racks = {cluster.rack_of[s.machine] for s in allocation.slices}
        links = tuple(link for link in self.capacity if link.place in racks) if len(racks) > 1 else ()
        issued, rides = np.array([round((1 - self.sends) * ONE_S)]), np.array([round(self.sends * ONE_S)])
        return JobTraffic(
            ONE_S, issued, rides, links, np.full((1, len(links)), self.sends * ONE_S), np.zeros(1, int)
        )

    def reprice(self, changed, running):
        crossing = [running.crossing_rack(rack) for rack in range(4)]
        jobs = dict.fromkeys(
            [*(c.job for c in changed if c.after), *(j for there in crossing for j in there)]
        )
        return {job: self._priced(job, crossing, running) for job in jobs}

    def _priced(self, job, crossing, running):
        others = {other for there in crossing if job in there for other in there} - {job}
        apart_ns = [(running.shift_ns(job) - running.shift_ns(other)) % ONE_S for other in others]
        meets = sum(not self.sends * ONE_S <= ns <= (1 - self.sends) * ONE_S for ns in apart_ns)
        return IterationParts(ONE_S, contention_ns=meets * HALF_S)


def ran(policy, jobs, cluster=RACKS, performance=None, **options):
    """Return finish times in seconds, and where each job first ran."""
    result, events = run_checked(jobs, cluster, policy, performance or Uplinks(), **options)
    starts = {e.job: e.allocation.gpu_map() for e in reversed(events) if hasattr(e, "allocation")}
    return [ns / 1e9 for ns in result.columns["finish_ns"].tolist()], starts


def aware(of=None, **settings):
    """Return FIFO, or another policy, with the network in view."""
    return NetworkAware(of or Ordered(order="fifo"), **settings)


# A takes rack 0 and half of rack 1 at 0 s, b as many GPUs at 1 s.
TWO = [job("a", 6, 10), job("b", 6, 10, at=1)]
APART = ({0: 2, 1: 2, 2: 2}, {4: 2, 5: 2, 6: 2})


def test_fifo_itself_collides():
    """B gets rack 2 and the other half of rack 1: both take 1.5 s from 1 s on.

    A has 9 iterations left: 1 + 13.5 = 14.5 s; b has done 9 by then, and does the last in 1 s: 15.5.
    """
    finish, at = ran(Ordered(order="fifo"), TWO)
    assert at == {0: APART[0], 1: {3: 2, 4: 2, 5: 2}}
    assert finish == [14.5, 15.5]


def test_the_other_place_shares_no_uplink():
    """Half of rack 3 does as well as half of rack 1, with no other job on its uplink: 10 and 1 + 10 s."""
    finish, at = ran(aware(), TWO)
    assert (finish, at) == ([10, 11], dict(enumerate(APART)))


@pytest.mark.parametrize(("packed_s", "even_s", "expected"), [(3, 1, {0: 3, 1: 3}), (1, 2, {0: 4, 1: 2})])
def test_a_job_is_split_evenly_where_that_is_faster(packed_s, even_s, expected):
    """6 GPUs of two machines of 4, with iterations of 3 s as 4 + 2 and 1 s as 3 + 3; or of 1 and 2 s.

    Ten iterations of 1 s end at 10 s in both cases. No link is shared.
    """
    performance = PlainPerformance(lambda spec, held: even_s if held.slices[0].gpus == 3 else packed_s)
    alone = [job("a", 6, 10)]
    assert ran(aware(), alone, tiny_cluster(2, 4), performance) == ([10], {0: expected})
    as_chosen = aware(placement="as_chosen")
    assert ran(as_chosen, alone, tiny_cluster(2, 4), performance) == ([10 * packed_s], {0: {0: 4, 1: 2}})


@pytest.mark.parametrize("placement", ["as_chosen", "least_added", "compatible"])
def test_shifted_jobs_share_an_uplink_at_no_cost(placement):
    """FIFO's own place, half an iteration later: nothing is added, so no other place is looked for."""
    finish, at = ran(aware(placement=placement, shifts="interleaved"), TWO)
    assert at == {0: APART[0], 1: {3: 2, 4: 2, 5: 2}}
    assert finish == [10, 11]


def test_among_many_jobs_only_the_placed_one_is_shifted(monkeypatch):
    """Of more than 1, say: b begins half a second after a, as above, and a is not asked to move."""
    monkeypatch.setattr("artist.policies.network_aware.policy._MAX_SHIFTED", 1)
    plans = []

    class Noting(NetworkAware):
        def decide(self, view):
            plans.append(super().decide(view))
            return plans[-1]

    policy = Noting(Ordered(order="fifo"), placement="compatible", shifts="interleaved")
    assert ran(policy, TWO)[0] == [10, 11]
    assert [dict(plan.shifts) for plan in plans if plan.shifts] == [{1: HALF_S}]


def test_by_score_a_job_avoids_a_link_without_room_to_interleave():
    """Sending 70 % of the time, two jobs exceed the uplink for 40 % of it: score 0.6, and 1 elsewhere."""

    class Busy(Uplinks):
        sends = 0.7

    finish, at = ran(aware(placement="compatible", shifts="interleaved"), TWO, performance=Busy())
    assert (finish, at) == ([10, 11], dict(enumerate(APART)))


def test_each_job_of_a_plan_sees_those_decided_before():
    """B and c start in one plan at 1 s, 2 GPUs beyond a rack each. Six racks: 0 and 1 have a.

    FIFO gives b rack 2 and half of 1, c rack 3 and half of 4. B goes to half of rack 5 or so instead; no two
    of the three share a rack, so all take 10 s.
    """
    jobs = [*TWO, job("c", 6, 10, at=1)]
    finish, at = ran(aware(), jobs, tiny_cluster(12, 2, per_rack=2))
    racks = [{m // 2 for m in at[i]} for i in range(3)]
    assert not racks[0] & racks[1] | racks[0] & racks[2] | racks[1] & racks[2]
    assert finish == [10, 11, 11]


def test_a_job_that_the_plan_stops_is_not_in_the_way():
    """At 1 s a is stopped and b put on its GPUs: nobody is on that uplink, so b stays where it is put."""
    there = on((0, 2), (1, 2), (2, 2))
    script = {
        0: lambda v, p: p.place(0, there),
        1: lambda v, p: (p.stop(0), p.place(1, there)),
        11: lambda v, p: p.place(0, there),
    }
    finish, at = ran(aware(Scripted(script)), TWO)
    assert at[1] == {0: 2, 1: 2, 2: 2}
    assert finish == [20, 11]


def test_without_contention_the_plan_is_the_policy_s_own():
    """Nothing is added anywhere: not even the object is another one."""
    plans = []

    class Noting(Ordered):
        def decide(self, view):
            plans.append(super().decide(view))
            return plans[-1]

    finish, at = ran(aware(Noting(order="fifo")), TWO, performance=PlainPerformance())
    assert at == {0: APART[0], 1: {3: 2, 4: 2, 5: 2}}
    assert finish == [10, 11]


def test_attributes_of_the_inner_policy_are_visible():
    """The engine and the run read it: when it is called, what it knows, its pool, its series; a copy too."""
    inner = Ordered(order="srtf", preemptive=True, interval_s=7, on_events=False)
    inner.series = [(0, "x", 1.0)]
    for outer in (aware(inner), copy(aware(inner))):
        assert (outer.interval_s, outer.on_events, outer.pool, outer.series) == (7, False, "", inner.series)
        assert outer.knows_durations
        assert outer.knows_performance
        assert not hasattr(outer, "follows")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"of": 7}, "no such part"),
        (
            {"of": Ordered(order="fifo"), "placement": "compatible"},
            "a score of shifted jobs; policy.shifts=interleaved",
        ),
        ({"of": AntMan()}, "AntMan records the machines of its jobs; policy.placement=as_chosen"),
        ({"of": Coda()}, "Coda records the machines of its jobs; policy.placement=as_chosen"),
    ],
)
def test_settings_that_contradict_are_refused(settings, message):
    """No policy; a score without shifts; a policy that would not know where its jobs are."""
    with pytest.raises(ValidationError, match=message):
        NetworkAware(**settings)


@pytest.mark.parametrize(
    ("contention", "settings", "told"),
    [
        ("none", {}, ["policy.placement=least_added does nothing about shared links with"]),
        ("mean_field", {}, []),
        (
            "mean_field",
            {"shifts": "interleaved"},
            ["policy.shifts=interleaved does nothing about shared links with"],
        ),
        ("packets", {"shifts": "interleaved"}, []),
    ],
)
def test_settings_without_effect_are_warned_about(contention, settings, told, caplog):
    """Places where no links are shared; shifts where jobs are not followed in time."""
    warn_without_links(PerformanceConfig(contention=contention), aware(**settings))
    warn_without_links(PerformanceConfig(contention=contention), Ordered(order="fifo"))
    assert len(caplog.messages) == len(told)
    assert all(message.startswith(event) for message, event in zip(caplog.messages, told, strict=True))


# --- what a place must respect: m2 and m3 are rack 1, of which a has m2


COLLIDES = on((3, 2), (4, 2), (5, 2))


def placed(b, chosen=COLLIDES, cluster=RACKS, more=None, also=lambda v, p: None, **options):
    """Return b's placement at 1 s under a policy that lets it collide with a; more jobs from number 2 on."""

    def start(v, p):
        p.place(1, chosen)
        also(v, p)

    script = {0: lambda v, p: p.place(0, on((0, 2), (1, 2), (2, 2))), 1: start, 30: lambda v, p: None}
    jobs = [job("a", 6, 20), b, *(more or [])]
    return ran(aware(Scripted(script)), jobs, cluster, **options)[1][1]


def test_it_would_move_to_the_other_rack():
    """The control of what follows: half of rack 3 instead of half of rack 1."""
    assert placed(job("b", 6, 5, at=1)) == APART[1]


def test_machines_that_take_no_new_work_are_no_place():
    """Rack 3 leaves at 0.5 s, with a deadline later on."""
    events = [CapacityEvent(ONE_S // 2, "leave", m, 100 * ONE_S) for m in (6, 7)]
    assert placed(job("b", 6, 5, at=1), capacity_events=events) == {3: 2, 4: 2, 5: 2}


def test_places_are_of_one_pool_and_kind():
    """Rack 3 is another pool's, or has GPUs of another type, or of the same type on other machines."""
    for other in ({"pool": "inference"}, {"gpu_type": "old"}, {"type": "crate"}):
        machines = [replace(m, **(other if m.rack == 3 else {})) for m in RACKS.machines]
        assert placed(job("b", 6, 5, at=1), cluster=Cluster(machines)) == {3: 2, 4: 2, 5: 2}


def test_machines_that_change_their_pool_are_no_place():
    """The plan gives rack 3 to others."""

    def assign(v, p):
        p.assign(6, "inference")
        p.assign(7, "inference")

    assert placed(job("b", 6, 5, at=1), also=assign) == {3: 2, 4: 2, 5: 2}


def test_cpus_and_memory_come_along():
    """9 CPUs for 6 GPUs: 3 for each 2. Where only 2 are free, beside CPU-only jobs in rack 3, is no place."""
    cluster = tiny_cluster(8, 2, per_rack=2, cpus=4)
    chosen = on((3, 2, 3), (4, 2, 3), (5, 2, 3))
    asks = job("b", 6, 5, at=1, cpus=9)
    assert placed(asks, chosen, cluster) == APART[1]
    hogs = [job(f"cpu{m}", 0, 20, at=1, cpus=2) for m in (6, 7)]

    def fill_up(v, p):
        for value, m in ((2, 6), (3, 7)):
            p.place(value, on((m, 0, 2)))

    assert placed(asks, chosen, cluster, hogs, fill_up) == {3: 2, 4: 2, 5: 2}


def test_groups_and_capped_jobs_are_not_moved():
    """A group's GPUs are the policy's business; so is a cap."""
    group = Group("g", ((3, 2), (4, 2), (5, 2)))
    b = job("b", 6, 5, at=1)
    for chosen in (on((3, 2), (4, 2), (5, 2), cap=0.5), on((3, 2), (4, 2), (5, 2), group=group)):
        assert placed(b, chosen) == {3: 2, 4: 2, 5: 2}


def test_nearer_gpus_are_a_place_too():
    """4 GPUs on half of rack 1 and half of rack 2: all of rack 2 leaves no rack."""
    assert placed(job("b", 4, 5, at=1), on((3, 2), (4, 2))) == {4: 2, 5: 2}


# --- with links as they are priced: 1.5 s of computing, then 1 s of sending that fills the uplink

LINKS = tiny_cluster(8, 4, per_rack=2)
A, B = on((0, 1), (2, 1)), on((1, 1), (3, 1))  # between racks 0 and 1, on machines of their own


def on_links(way="flow_level", **settings):
    """Return finish times in seconds of two jobs of 10 iterations that a policy puts on one uplink at 0 s."""
    network = PlacedPerformance(
        Rings(),
        FABRIC,
        FABRIC.system,
        {"most": model(3 * ONE_S // 2, ONE_S)}.__getitem__,
        contention=links_of(way, LINKS, FABRIC),
    )
    inner = Scripted({0: lambda v, p: (p.place(0, A), p.place(1, B))})
    inner.knows_performance = True
    jobs = [replace(job(value, 2, 15, iteration_s=1.5), model="most") for value in "ab"]
    return ran(NetworkAware(inner, **settings) if settings else inner, jobs, LINKS, network)


def test_two_jobs_on_an_uplink_run_as_if_alone_where_they_are_shifted():
    """Aligned they send for 2 s: 3.5 s an iteration, 35 s. B half of 2.5 s later: 2.5 s each, 25 s."""
    assert on_links()[0] == [35, 35]
    results = [
        on_links(placement=way, shifts="interleaved") for way in ("as_chosen", "least_added", "compatible")
    ]
    assert results == [([25, 25], {0: A.gpu_map(), 1: B.gpu_map()})] * 3


def test_without_shifts_the_second_goes_where_it_is_alone():
    """Two GPUs nearer to each other, or anywhere but between racks 0 and 1: 25 s, on average as in time."""
    for way in ("flow_level", "mean_field"):
        finish, at = on_links(way, placement="least_added")
        assert finish[0] == 25
        assert finish[1] <= 25
        assert at[1] != B.gpu_map()


def test_shifts_mean_nothing_to_averages():
    """There each job meets the other as often as by chance, shifted or not."""
    assert on_links("mean_field", placement="as_chosen", shifts="interleaved") == on_links("mean_field")
