"""Gandiva's packing: pairs that gain stay, others are parted; hosts by lowest utilization; turns of pairs."""

from artist.core.events import Change, Start, Stop
from artist.policies.gandiva.policy import Gandiva
from artist.testing.tiny import PlainPerformance, job, run_checked, seconds, tiny_cluster

HALF = {"gpu_utilization": 0.5}


class Crowded(PlainPerformance):
    """Packed jobs take so many times as long as alone, however idle the GPUs."""

    def __init__(self, times):
        super().__init__()
        self._times = times

    def _parts(self, spec, allocation, running):
        alone = self._alone(spec, allocation)
        group = allocation.group
        packed = group is not None and len(running.members(group.name)) > 1
        return alone._replace(interference_ns=round(sum(alone) * (self._times - 1))) if packed else alone


def packing(**parameters):
    """Return Gandiva with packing, which measures for 10 s."""
    return Gandiva(**{"packing": True, "profile_s": 10} | parameters)


def run(jobs, gpus=1, policy=None, performance=None, machines=1):
    """Return the result and the events of jobs on small machines."""
    return run_checked(jobs, tiny_cluster(machines, gpus), policy or packing(), performance)


def groups_of(events):
    """Return (time in s, job) of all who started on somebody's GPUs."""
    return [(e.time_ns / 1e9, e.job) for e in events if isinstance(e, Start) and e.allocation.group]


def test_a_waiting_job_fills_the_idle_time_of_a_measured_one():
    """A keeps its GPU busy for half of the time; b joins at 10, and both run at full speed: 100 and 110 s.

    The group holds the GPU from 10 to 100, when b has it for itself. Without packing b waits until 100.
    """
    jobs = [job("a", 1, 100, **HALF), job("b", 1, 100, **HALF)]
    result, events = run(jobs)
    assert groups_of(events) == [(10, 1)]
    assert seconds(result, "finish_ns") == [100, 110]
    assert (result.busy_gpu_ns, result.group_gpu_ns) == (110 * 10**9, 90 * 10**9)
    apart, _ = run(jobs, policy=packing(packing=False))
    assert seconds(apart, "finish_ns") == [100, 200]


def test_a_pair_that_slows_down_stays_if_it_beats_taking_turns():
    """Shares 0.5 + 1 take 1.5 times as long; 1/1.5 of a's speed and 1/1.5 busy for b: 1.33 > 1.

    a: 10 done at 10, 90 x 1.5 = 135 s more: 145. b: 90 done by then, 10 alone: 155.
    """
    result, _ = run([job("a", 1, 100, **HALF), job("b", 1, 100)])
    assert seconds(result, "finish_ns") == [145, 155]


def test_a_pair_is_parted_when_throughput_drops_and_never_tried_again():
    """Packed from 9 to 18, three times as slow: 1/3 + 0.5/3 = 0.5 < 1, so b, who came later, waits again.

    a: 9 + 3 done at 18, 88 alone: 106. b: 3 done, 97 from 106: 203. Kept as a pair, a would end at 282.
    """
    jobs = [job("a", 1, 100, **HALF), job("b", 1, 100, **HALF)]
    result, events = run(jobs, policy=packing(profile_s=9), performance=Crowded(3))
    assert groups_of(events) == [(9, 1)]
    assert seconds(result, "finish_ns") == [106, 203]
    assert result.columns["starts"].tolist() == [1, 2]


def test_a_pair_that_does_just_as_well_as_taking_turns_is_parted():
    """Packed from 10 to 20, twice as slow: 1/2 of a's speed and 1/2 busy for b make 1, no more than in turns.

    a: 10 + 5 done at 20, 85 alone: 105. b: 5 done, 95 from 105: 200. Kept as a pair, a would end at 190.
    """
    result, _ = run([job("a", 1, 100, **HALF), job("b", 1, 100)], performance=Crowded(2))
    assert seconds(result, "finish_ns") == [105, 200]


def test_a_parted_job_moves_to_gpus_of_its_own_if_there_are_any():
    """As before, but c leaves another machine at 15: b moves there at 18, with 97 left: 115; none stops."""
    jobs = [job("a", 1, 100, **HALF), job("c", 1, 15), job("b", 1, 100, **HALF)]
    result, _ = run(jobs, machines=2, policy=packing(profile_s=9), performance=Crowded(3))
    assert seconds(result, "finish_ns") == [106, 15, 115]
    assert result.columns["preemptions"].sum() == 0
    assert result.columns["migrations"].tolist() == [0, 0, 1]


def test_a_parted_job_tries_the_next_host():
    """C joins a (0.1) at 9 and is parted at 18; the next is b (0.2), never a again."""
    shares = {"a": 0.1, "b": 0.2, "c": 0.5}
    jobs = [job(name, 1, 60, gpu_utilization=share) for name, share in shares.items()]
    _, events = run(jobs, gpus=2, policy=packing(profile_s=9), performance=Crowded(3))
    joined = [
        e.allocation.group.name
        for e in events
        if isinstance(e, Start | Change) and e.job == 2 and e.allocation.group
    ]
    assert joined == ["0+2", "1+2"]


def test_a_pair_parts_when_gpus_are_free_and_no_job_waits():
    """Shares 0.5 + 1: from 10 to 40 both do 20 of their 100 s; then c leaves and b moves to its GPU.

    a: 10 + 20 done, 70 left: 110. b: 20 done, 80 left: 120.
    """
    jobs = [job("a", 1, 100, **HALF), job("c", 1, 40), job("b", 1, 100)]
    result, _ = run(jobs, gpus=2)
    assert seconds(result, "finish_ns") == [110, 40, 120]


def test_the_lowest_utilization_is_joined_first():
    """A, b, c show 0.4, 0.2 and 0.3: d joins b, e joins c, f joins a."""
    shares = (0.4, 0.2, 0.3)
    jobs = [*(job(name, 1, 50, gpu_utilization=u) for name, u in zip("abc", shares, strict=True))]
    _, events = run([*jobs, *(job(name, 1, 50, **HALF) for name in "def")], gpus=3)
    groups = [e.allocation.group.name for e in events if isinstance(e, Start) and e.allocation.group]
    assert groups == ["1+3", "2+4", "0+5"]


def test_busy_jobs_and_other_demands_are_left_alone():
    """B asks for a GPU; a holds two, and c keeps its one busy for 0.6 of the time, above 0.5."""
    hosts = [job("a", 2, 50, gpu_utilization=0.1), job("c", 1, 50, gpu_utilization=0.6)]
    jobs = [*hosts, job("b", 1, 50, **HALF)]
    _, events = run(jobs, gpus=3)
    assert groups_of(events) == []
    _, events = run(jobs, gpus=3, policy=packing(packing_utilization=0.6))
    assert groups_of(events) == [(10, 2)]


def test_a_pair_shares_one_time_slice():
    """Turns of 20 s on one GPU, jobs of 30 s; a and b show 0.5, c 1.

    a 0-20, b joins at 10; c 20-40; a and b again from 40, a ends at 50. c, who waits, joins b, which has
    10 left, as has c: 1.5 times as slow, both end at 65. In turns alone they would end at 70, 80 and 90.
    """
    jobs = [job("a", 1, 30, **HALF), job("b", 1, 30, **HALF), job("c", 1, 30)]
    result, events = run(jobs, policy=packing(slicing=True, quantum_s=20))
    assert groups_of(events) == [(10, 1), (40, 1), (50, 2)]
    assert seconds(result, "finish_ns") == [50, 65, 65]
    turns, _ = run(jobs, policy=packing(slicing=True, quantum_s=20, packing=False))
    assert seconds(turns, "finish_ns") == [70, 80, 90]


def test_a_guest_stays_as_long_as_its_host():
    """Turns of 20 s: a's second one began at 20; b's, who joined at 10, would be over at 30; c comes at 35.

    C waits until 40, when a's turn is over, and a and b go together.
    """
    jobs = [job("a", 1, 90, **HALF), job("b", 1, 90, **HALF), job("c", 1, 10, at=35)]
    result, events = run(jobs, policy=packing(slicing=True, quantum_s=20))
    assert seconds(result, "first_start_ns") == [0, 10, 40]
    assert [(e.time_ns / 1e9, e.job) for e in events if isinstance(e, Stop)] == [(40, 0), (40, 1)]


def test_a_pair_does_not_migrate():
    """Singles of 100 and 10 s on both machines: a is spread from 10 on, and b joins it at 20.

    At 100 either machine could take a alone; but both run at full speed, until 210 and 220.
    """
    singles = [job(f"s{n}", 1, 10 if n % 2 else 100) for n in range(4)]
    jobs = [*singles, job("a", 2, 200, at=1, **HALF), job("b", 2, 200, at=2, **HALF)]
    result, _ = run(jobs, gpus=2, machines=2)
    assert seconds(result, "finish_ns")[4:] == [210, 220]
    assert result.columns["migrations"].sum() == result.columns["preemptions"].sum() == 0


def test_guests_share_the_remaining_cpus():
    """A machine of 2 GPUs and 5 CPUs: each host has 2, the first guest gets the last one, the second none."""
    jobs = [job(name, 1, 50, gpu_utilization=0.1) for name in "abcd"]
    _, events = run_checked(jobs, tiny_cluster(1, 2, cpus=5), packing())
    starts = [e.allocation.slices[0].cpus for e in events if isinstance(e, Start)]
    assert starts == [2, 2, 1, 0]


def test_a_guest_counts_with_its_utilisation_measured_alone():
    """Packed 1.6 times as slow, both busy for 0.1: 1/1.6 + 1/1.6 = 1.25 for a guest that was measured alone.

    Turns of 10 s: a 0-10, b 10-20; at 20 b joins a, and they stay: 190 x 1.6 = 304 s more, both end at 324.
    Without turns b is new when it joins at 10: 1/1.6 + 0.1/1.6 = 0.69, parted at 20. a: 16.25 done, ends at
    203.75; b: 6 done, 194 left: 397.75.
    """
    jobs = [job(name, 1, 200, gpu_utilization=0.1) for name in "ab"]
    known, _ = run(jobs, policy=packing(slicing=True, quantum_s=10), performance=Crowded(1.6))
    assert seconds(known, "finish_ns") == [324, 324]
    new, _ = run(jobs, performance=Crowded(1.6))
    assert seconds(new, "finish_ns") == [203.75, 397.75]
