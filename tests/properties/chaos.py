"""A chaotic policy: random plans, legal by a check of its own that shares no code with the engine's."""

import random
from collections.abc import Mapping, Sequence

from artist.core.buckets import members_of
from artist.core.cluster import Allocation, Cluster, Group, Slice
from artist.core.job import Demand
from artist.core.plan import Plan, PlanBuilder
from artist.core.view import ClusterView
from artist.testing.tiny import on, tiny_cluster

GPUS, CPUS, MEMORY = 2, 4, 1 << 30  # of each of the cluster's three machines
Held = dict[int, Allocation]


def chaos_cluster() -> Cluster:
    """Return three machines, two of them in one rack."""
    return tiny_cluster(3, GPUS, per_rack=2, cpus=CPUS, memory_bytes=MEMORY)


# --- what a legal state is, counted from nothing: the oracle of the engine's check


def used(held: Held, machines: int) -> list[list[int]]:
    """Return GPUs, CPUs and bytes in use per machine; a group's GPUs count once."""
    use = [[0, 0, 0] for _ in range(machines)]
    groups = {a.group.name: a.group for a in held.values() if a.group}
    for group in groups.values():
        for m, gpus in group.gpus:
            use[m][0] += gpus
    for a in held.values():
        for m, gpus, cpus, memory in a.slices:
            use[m][0] += 0 if a.group else gpus
            use[m][1] += cpus
            use[m][2] += memory
    return use


def groups_are_sound(held: Held) -> bool:
    """Return whether members name equal records and fit into them."""
    records = {a.group for a in held.values() if a.group}
    if len({group.name for group in records}) < len(records):
        return False
    for group in records:
        owned = dict(group.gpus)
        members = [a for a in held.values() if a.group == group]
        slices = [s for a in members for s in a.slices]
        if any(s.gpus > owned.get(s.machine, 0) for s in slices):
            return False
        if any(sum(s.gpus for s in slices if s.machine == m) > group.depth * owned[m] for m in owned):
            return False
    return True


def is_legal(
    before: Held,
    after: Held,
    demands: Mapping[int, Demand],
    capacity: Sequence[Sequence[int]],
    open_: Sequence[bool],
) -> bool:
    """Return whether a cluster may change from one state to another; `capacity` counts all machines."""
    use, was = used(after, len(capacity)), used(before, len(capacity))
    if any(u > c for us, cs in zip(use, capacity, strict=True) for u, c in zip(us, cs, strict=True)):
        return False
    if any(use[m][0] > was[m][0] for m in range(len(capacity)) if not open_[m]):
        return False
    for job, a in after.items():
        if a == before.get(job):
            continue
        old = {s.machine: s for s in before[job].slices} if job in before else {}
        for s in a.slices:
            held = old.get(s.machine)
            if not open_[s.machine] and (
                held is None or any(x > y for x, y in zip(s[1:], held[1:], strict=True))
            ):
                return False
        demand = demands[job]
        if not a.slices or (demand.max_machines and len(a.slices) > demand.max_machines):
            return False
        if demand.gpus:
            if any(s.gpus < 1 for s in a.slices) or a.gpus not in demand.targets():
                return False
        elif a.gpus or sum(s.cpus for s in a.slices) < 1:
            return False
    return groups_are_sound(after)


# --- the chaotic policy


class Chaos:
    """Makes random legal plans for a number of calls, then runs jobs first come, first served."""

    on_events = True
    knows_durations = knows_iterations = knows_models = knows_performance = True

    def __init__(self, seed: int, wild_calls: int, interval_s: float | None = None) -> None:
        self._rng = random.Random(seed)
        self._wild_calls = wild_calls
        self._names = 0
        self.interval_s = interval_s

    def decide(self, view: ClusterView) -> Plan:
        """Return a random legal plan, or after the wild calls a calm one."""
        plan = view.plan()
        before = {j: a for j in view.jobs.job.tolist() if (a := view.allocation(j)) is not None}
        wild = self._wild_calls > 0
        self._wild_calls -= 1
        look_at_everything(view, before)
        after = self._wild(view, before) if wild else self._calm(view, before)
        for j in sorted(before.keys() | after.keys(), key=lambda j: self._rng.random()):
            if j not in after:
                plan.stop(j)
            elif after[j] != before.get(j) or self._rng.random() < 0.1:  # a plan may say what is already so
                plan.place(j, after[j])
        if wild:
            self._assign(view, before, after, plan)
            if not after or self._rng.random() < 0.8:  # with nothing running, nothing else would call again
                plan.wake_at(view.now_ns + self._rng.choice((0, 1, 7, 30, 90, 250)))
        return plan.done()

    def _wild(self, view: ClusterView, before: Held) -> Held:
        jobs, rng = view.jobs.job.tolist(), self._rng
        demands = {j: view.demand(j) for j in jobs}
        machines = view.cluster.machines
        capacity = [(m.gpus, m.cpus, m.memory_bytes) for m in machines]
        after = dict(before)
        for _ in range(rng.randint(0, 6) if jobs else 0):  # a wake-up may come between jobs
            j = rng.choice(jobs)
            trial = dict(after)
            if j in after and rng.random() < 0.3:
                del trial[j]
            else:
                trial[j] = self._allocation(j, demands[j], after, len(machines))
            if is_legal(before, trial, demands, capacity, view.accepts.tolist()):
                after = trial
        return after

    def _allocation(self, j: int, demand: Demand, held: Held, machines: int) -> Allocation:
        """Propose something: own GPUs, a group, or another cap or share of what it holds."""
        rng, now = self._rng, held.get(j)
        cap = rng.choice((1.0, 1.0, 0.5))
        kind = rng.random()
        if now is not None and kind < 0.25:  # retune, or leave the group
            slices = [s._replace(cpus=rng.randint(1 - bool(demand.gpus), 2)) for s in now.slices]
            return Allocation(tuple(slices), cap, rng.choice((now.group, None)), rng.random() < 0.3)
        if now is not None and now.group is None and demand.gpus and kind < 0.4:  # found a group where it is
            self._names += 1
            owned = tuple((s.machine, min(GPUS, s.gpus + rng.randint(0, 1))) for s in now.slices)
            return Allocation(now.slices, cap, Group(f"g{self._names}", owned, rng.randint(1, 3)))
        if (
            now is not None and now.group is None and demand.elastic and kind < 0.7
        ):  # more or fewer where it is
            i = rng.randrange(len(now.slices))
            slices = [
                s._replace(gpus=s.gpus + rng.choice((-1, 1)) * (k == i)) for k, s in enumerate(now.slices)
            ]
            return Allocation(tuple(s for s in slices if s.gpus), cap)
        groups = [a.group for a in held.values() if a.group]
        group = rng.choice(groups) if groups and demand.gpus and kind < 0.8 else None
        room = dict(group.gpus) if group else dict.fromkeys(range(machines), GPUS)
        if not demand.gpus:
            return on((rng.randrange(machines), 0, demand.cpus), cap=cap)
        need, slices = rng.choice(list(demand.targets())), []
        for m in sorted(room, key=lambda m: rng.random()):
            take = min(need, rng.randint(1, room[m]))
            if take:
                slices.append(Slice(m, take, rng.randint(0, 2), rng.choice((0, MEMORY // 3))))
                need -= take
        return Allocation(tuple(sorted(slices)), cap, group, rng.random() < 0.3)

    def _calm(self, view: ClusterView, before: Held) -> Held:
        """Keep what runs; start the others in order, wherever there is room."""
        after, free = dict(before), view.free()
        for j in view.jobs.job.tolist():
            if j in after:
                continue
            demand = view.demand(j)
            need, slices = demand.gpus, []
            for m in range(len(view.cluster)):
                take = min(need, int(free.gpus[m]))
                if take:
                    slices.append(Slice(m, take))
                    need -= take
                elif not demand.gpus and not slices and free.cpus[m] >= demand.cpus:
                    slices.append(Slice(m, 0, demand.cpus))
            if slices and not need and len(slices) <= (demand.max_machines or len(slices)):
                after[j] = Allocation(tuple(slices))
                free.take(after[j])
        return after

    def _assign(self, view: ClusterView, before: Held, after: Held, plan: PlanBuilder) -> None:
        """Give away machines whose jobs all leave; what comes may come."""
        stay = {m for j, a in before.items() if j in after for m in _machines_of(a) & _machines_of(after[j])}
        for m in range(len(view.cluster)):
            if m not in stay and view.accepts[m] and self._rng.random() < 0.2:
                plan.assign(m, self._rng.choice(("training", "inference")))


def _machines_of(allocation: Allocation) -> set[int]:
    """Return the machines on which a job or its group holds something."""
    owned = allocation.group.gpus if allocation.group else ()
    return {s.machine for s in allocation.slices} | {m for m, _ in owned}


def look_at_everything(view: ClusterView, held: Held) -> None:
    """Read what a policy may read, and compare it with the allocations."""
    jobs, free = view.jobs, view.free()
    machines = view.cluster.machines
    use = used(held, len(machines))
    for m, machine in enumerate(machines):
        takes = bool(view.accepts[m])
        assert free.gpus[m] == (machine.gpus - use[m][0] if takes else 0)
        assert free.cpus[m] == (machine.cpus - use[m][1] if takes else 0)
        assert free.memory_bytes[m] == (machine.memory_bytes - use[m][2] if takes else 0)
        assert sorted(view.jobs_on(m)) == sorted(j for j, a in held.items() if m in a.gpu_map())
    for pool in (*view.pools, "nobody"):
        assert members_of(view.in_pool(pool)) == [m for m, owner in enumerate(view.pools) if owner == pool]
    assert view.free_gpus == free.total_gpus == free.gpus.sum()
    assert jobs.job.tolist() == sorted(jobs.job.tolist())
    assert jobs.running.tolist() == [j in held for j in jobs.job.tolist()]
    assert jobs.held_gpus.tolist() == [held[j].gpus if j in held else 0 for j in jobs.job.tolist()]
    assert ((jobs.waiting_since_ns < 0) == jobs.running).all()
    assert (jobs.iterations_done + jobs.iterations_left == jobs.iterations).all()
    assert (jobs.iterations_left >= 1).all()
    assert (jobs.remaining_ns <= jobs.ideal_ns).all()
    assert (jobs.remaining_ns >= 0).all()
    assert ((jobs.observed_iteration_ns > 0) == jobs.running).all()
    assert (jobs.observed_gpu_utilization <= 1).all()
