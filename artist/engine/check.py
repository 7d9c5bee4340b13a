"""The check of a plan, as a whole, against the state that it would lead to.

Each rule raises `PlanError` with job, machine and time. Nothing is repaired: a policy that plans the
impossible is wrong, and its author wants to know.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from numbers import Integral, Real

from artist.core.cluster import MODES, ORDERINGS, Allocation, Cluster, Group, Slice
from artist.core.job import Demand
from artist.core.plan import Plan
from artist.engine.jobs import FINISHED, PENDING, RUNNING, WAITING, JobTable
from artist.engine.machines import MachineTable
from artist.errors import PlanError
from artist.units import ns_to_seconds


class PlanCheck:
    """Judges the plans of one run."""

    def __init__(self, jobs: JobTable, machines: MachineTable) -> None:
        self._jobs = jobs
        self._machines = machines
        self._cluster: Cluster = machines.cluster
        self._n_machines = len(machines.cluster)
        self._held = jobs.held
        self._now = 0

    def check(self, plan: Plan, now: int) -> None:
        """Raise `PlanError` if the plan cannot be carried out now."""
        self._now = now
        if plan.wake_ns is not None and plan.wake_ns < now:
            raise PlanError(f"the plan asks to be woken at {ns_to_seconds(plan.wake_ns)} s{self._at()}")
        if type(plan.awaited_gpus) is not int and not _whole_numbers([plan.awaited_gpus]):
            raise PlanError(
                f"the plan waits for {plan.awaited_gpus!r} GPUs{self._at()}; allowed: a whole number"
            )
        if plan.shifts:
            self._check_shifts(plan)
        for job, reason in plan.reasons.items():
            if not self._is_known(job) or not isinstance(reason, str):
                raise PlanError(f"job number {job!r} waits for {reason!r}{self._at()}; allowed: a text")
        for job in plan.cancels:
            if plan.changes.get(job, job) is not None:
                raise PlanError(f"job number {job!r} is cancelled and goes on{self._at()}")
        if not plan.changes and not plan.assigns:
            return
        if len(plan.changes) == 1 and not plan.assigns:
            ((job, after),) = plan.changes.items()
            if after and self._is_plain_start(job, after) and not self._without_room(after.slices):
                return
        self._check_end_state(plan)

    def _check_end_state(self, plan: Plan) -> None:
        """Raise `PlanError` if the jobs and machines that the plan changes could not be so after it."""
        more: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])  # GPUs, CPUs, memory beyond now
        grouped = False
        for job, after in plan.changes.items():
            before = None
            if after is None or not self._is_plain_start(job, after):
                self._check_job(job, after)
                before = self._held[job]
                if after is not None:
                    self._check_allocation(job, before, after)
            for allocation, sign in ((before, -1), (after, 1)):
                if allocation is None:
                    continue
                alone = allocation.group is None
                grouped = grouped or not alone
                for m, gpus, cpus, memory in allocation.slices:
                    here = more[m]
                    if alone:
                        here[0] += sign * gpus
                    here[1] += sign * cpus
                    here[2] += sign * memory
        if grouped:
            self._check_groups(plan, more)
        if lacks := self._without_room((m, *most) for m, most in more.items()):
            raise self._room_error(plan, *lacks)
        for machine, pool in plan.assigns.items():
            self._check_assign(plan, machine, pool)

    # --- rules about one job

    def _is_plain_start(self, job: int, after: Allocation) -> bool:
        """Return whether a plan's start is the usual case, on GPUs of its own as asked for, and valid."""
        if type(job) is not int or type(after) is not Allocation or not 0 <= job < self._jobs.n:
            return False
        if self._jobs.status[job] != WAITING or after.group is not None or after.bandwidth_cap != 1.0:
            return False
        slices, demand = after.slices, self._jobs.template[job].demand
        if demand.max_gpus or demand.fungible or demand.gpu_types:
            return False
        if len(slices) > 1 and (demand.max_machines or demand.in_units or not self._cluster.uniform):
            return False
        return self._are_plain(slices, demand.gpus)

    def _are_plain(self, slices: tuple[Slice, ...], gpus: int) -> bool:
        """Return whether slices are well formed, on machines that take new work, and have `gpus` in all."""
        last, left, n, accepts = -1, gpus, self._n_machines, self._machines.accepts
        for s in slices:
            m, count, cpus, memory = s if type(s) is Slice else (n, 0, 0, 0)
            whole = type(m) is type(count) is type(cpus) is type(memory) is int
            if not (whole and last < m < n and count > 0 and cpus >= 0 and memory >= 0 and accepts[m]):
                return False
            last, left = m, left - count
        return not left and last >= 0

    def _check_job(self, job: int, after: Allocation | None) -> None:
        if not self._is_known(job):
            raise PlanError(f"job number {job!r} is unknown{self._at()}")
        if after is not None and not isinstance(after, Allocation):
            raise self._error(job, f"gets {after!r}; allowed: an Allocation")
        if after is not None and after.group is not None and not isinstance(after.group, Group):
            raise self._error(job, f"gets group {after.group!r}; allowed: a Group, or None")
        if self._jobs.status[job] == FINISHED:
            raise self._error(job, "has finished")
        if after is None and self._jobs.status[job] != RUNNING:
            raise self._error(job, "is stopped but does not run")

    def _is_known(self, job: int) -> bool:
        return _whole_numbers([job]) and 0 <= job < self._jobs.n and self._jobs.status[job] != PENDING

    def _check_allocation(self, job: int, before: Allocation | None, after: Allocation) -> None:
        demand = self._jobs.template[job].demand
        slices = after.slices
        if not slices:
            raise self._error(job, "gets an allocation without slices; plan.stop() takes it away")
        cap = after.bandwidth_cap
        if (type(cap) is not float and not isinstance(cap, Real)) or not 0 < cap <= 1:
            raise self._error(job, f"gets bandwidth cap {after.bandwidth_cap}; allowed: (0, 1]")
        if {*map(type, slices)} != {Slice} or {*map(type, chain.from_iterable(slices))} != {int}:
            for s in slices:
                if not isinstance(s, Slice) or not _whole_numbers(s):
                    raise self._error(job, f"gets {s!r}; allowed: a Slice of whole numbers")
            slices = tuple(Slice(*map(int, s)) for s in slices)  # numpy's overflow, and JSON has none
            object.__setattr__(after, "slices", slices)
        last = -1
        for s in slices:
            if not 0 <= s.machine < self._n_machines:
                raise self._error(job, f"is placed on machine number {s.machine}, which does not exist")
            if s.machine <= last:
                raise self._error(job, "gets slices that are not sorted, one per machine", s.machine)
            last = s.machine
            if s.gpus < (1 if demand.gpus else 0) or s.cpus < 0 or s.memory_bytes < 0:
                raise self._error(job, f"gets an empty or negative slice {tuple(s)}", s.machine)
            if not self._machines.accepts[s.machine]:
                self._check_closed(job, before, s.machine, (s.gpus, s.cpus, s.memory_bytes))
        self._check_demand(job, demand, after)

    def _check_closed(
        self, job: int, before: Allocation | None, machine: int, wanted: tuple[int, ...]
    ) -> None:
        held = next((s for s in before.slices if s.machine == machine), None) if before else None
        if held is None or any(w > h for w, h in zip(wanted, held[1:], strict=True)):
            raise self._error(job, "is placed on a machine that takes no new work", machine)

    def _check_demand(self, job: int, demand: Demand, after: Allocation) -> None:
        gpus = after.gpus
        slices = after.slices
        if demand.max_machines and len(slices) > demand.max_machines:
            raise self._error(job, f"gets {len(slices)} machines; allowed: at most {demand.max_machines}")
        if not demand.gpus:
            if gpus or sum(s.cpus for s in slices) < 1:
                raise self._error(job, "needs CPUs and no GPUs")
            return
        if gpus != demand.gpus or demand.elastic or demand.fungible:
            machines = self._cluster.machines
            if not demand.allows((s.gpus, machines[s.machine].worth) for s in slices):
                targets = demand.targets()
                allowed = f"{targets[0]}" if len(targets) == 1 else f"{targets[0]}..{targets[-1]}"
                step = f" in steps of {demand.step}" if demand.elastic and demand.step > 1 else ""
                raise self._error(job, f"gets {gpus} GPUs; allowed: {allowed}{step}")
        self._check_units(job, demand, after)
        if demand.gpu_types or (len(slices) > 1 and not demand.mixed_types and not self._cluster.uniform):
            self._check_gpu_types(job, demand, {self._cluster.machines[s.machine].gpu_type for s in slices})

    def _check_units(self, job: int, demand: Demand, after: Allocation) -> None:
        if demand.in_units and not demand.is_whole(after.gpu_map(), self._cluster.rack_of):
            parts = f"units of {demand.unit} on a machine and segments of {demand.segment} in a rack"
            raise self._error(job, f"gets {[s.gpus for s in after.slices]} GPUs by machine; allowed: {parts}")

    def _check_gpu_types(self, job: int, demand: Demand, types: set[str]) -> None:
        if demand.gpu_types and not types <= set(demand.gpu_types):
            raise self._error(job, f"gets GPUs of type {sorted(types)}; allowed: {list(demand.gpu_types)}")
        if len(types) > 1 and not demand.mixed_types:
            raise self._error(job, f"gets mixed GPU types {sorted(types)}; allowed: one type")

    def _check_shifts(self, plan: Plan) -> None:
        for job, shift_ns in plan.shifts.items():
            if not _whole_numbers([job]) or not 0 <= job < self._jobs.n:
                raise PlanError(f"job number {job!r} is unknown{self._at()}")
            if plan.changes.get(job, self._held[job]) is None:
                raise self._error(job, "is shifted but does not run after the plan")
            if not _whole_numbers([shift_ns]) or shift_ns < 0:
                raise self._error(job, f"is shifted by {shift_ns!r} ns; allowed: a whole number, 0 or more")

    # --- rules about groups, room and pools

    def _check_groups(self, plan: Plan, more: dict[int, list[int]]) -> None:
        """Check the groups that the plan changes in their end state; add their GPUs to `more`."""
        touched: dict[str, None] = {}
        for job, after in plan.changes.items():
            for allocation in (self._held[job], after):
                if allocation is not None and allocation.group is not None:
                    touched[allocation.group.name] = None
        for name in touched:
            record, now_in = self._machines.groups.get(name, (None, {}))
            members: dict[int, Allocation] = {}
            for job in now_in:
                allocation = self._held[job]
                if job not in plan.changes and allocation is not None:
                    members[job] = allocation
            for job, after in plan.changes.items():
                if after is not None and after.group is not None and after.group.name == name:
                    members[job] = after
            end = next(iter(members.values())).group if members else None
            if record is not None:
                for m, count in record.gpus:
                    more[m][0] -= count
            if end is not None:
                self._check_members(end, members)
                for m, count in end.gpus:
                    more[m][0] += count

    def _check_members(self, group: Group, members: dict[int, Allocation]) -> None:
        numbers = [m for m, _ in group.gpus]
        name = f"group {group.name!r}"
        known = bool(numbers) and numbers[0] >= 0 and numbers[-1] < len(self._cluster)
        if not known or numbers != sorted(set(numbers)):
            raise PlanError(f"{name} does not list known machines in order: {group.gpus}{self._at()}")
        if {*map(type, chain.from_iterable(group.gpus)), type(group.depth)} != {int}:
            if not _whole_numbers([group.depth, *chain.from_iterable(group.gpus)]):
                raise PlanError(f"{name} does not count in whole numbers: {group}{self._at()}")
            object.__setattr__(group, "gpus", tuple((int(m), int(count)) for m, count in group.gpus))
        if group.mode not in MODES or group.ordering not in ORDERINGS:
            allowed = f"allowed: {' or '.join(MODES)}, {' or '.join(ORDERINGS)}"
            raise PlanError(f"{name} is {group.mode!r}, {group.ordering!r}; {allowed}{self._at()}")
        if group.depth < 1 or min(count for _, count in group.gpus) < 1:
            raise PlanError(f"{name} has no depth or no GPUs: {group}{self._at()}")
        owned = dict(group.gpus)
        total: dict[int, int] = defaultdict(int)
        for job, allocation in members.items():
            if allocation.group != group:
                raise self._error(job, f"names another record of group {group.name!r} than its other members")
            for s in allocation.slices:
                total[s.machine] += s.gpus
                if s.gpus > owned.get(s.machine, 0):
                    raise self._error(
                        job, f"holds {s.gpus} GPUs of group {group.name!r}, more than it has", s.machine
                    )
                if total[s.machine] > group.depth * owned.get(s.machine, 0):
                    raise self._error(job, f"makes group {group.name!r} deeper than {group.depth}", s.machine)

    def _without_room(self, wanted: Iterable[Sequence[int]]) -> Sequence[int] | None:
        """Return the first slice that a machine cannot hold; one that takes no new work has no GPUs."""
        machines = self._machines
        free_gpus, free_cpus, free_memory = machines.free_gpus, machines.free_cpus, machines.free_memory
        for m, gpus, cpus, memory in wanted:
            enough = gpus <= free_gpus[m] and cpus <= free_cpus[m] and memory <= free_memory[m]
            if not enough or (gpus > 0 and not machines.accepts[m]):
                return m, gpus, cpus, memory
        return None

    def _room_error(self, plan: Plan, machine: int, *wanted: int) -> PlanError:
        """Return the error for the first of GPUs, CPUs and memory of which there is too little."""
        columns = (self._machines.free_gpus, self._machines.free_cpus, self._machines.free_memory)
        free = [column[machine] for column in columns]
        short = next((i for i in range(3) if wanted[i] > free[i]), 0)  # else GPUs that are free but closed
        unit = ("GPUs", "CPUs", "bytes of memory")[short]
        job = next(
            (j for j, a in plan.changes.items() if a and any(s.machine == machine for s in a.slices)), None
        )
        text = f"the plan takes {wanted[short]} more {unit} than now; free: {free[short]}"
        return PlanError(text + self._at(machine)) if job is None else self._error(job, text, machine)

    def _check_assign(self, plan: Plan, machine: int, pool: str) -> None:
        """Check that all jobs on a machine leave it in the plan; jobs that enter are in the new pool."""
        known = _whole_numbers([machine]) and 0 <= machine < len(self._cluster)
        if not known or not self._machines.present[machine]:
            raise PlanError(
                f"machine number {machine} cannot change to pool {pool!r}: it is absent{self._at()}"
            )
        if not isinstance(pool, str):
            raise PlanError(f"the plan names {pool!r} as a pool; allowed: a text{self._at(machine)}")
        for job in self._machines.tenants(machine):
            after = plan.changes.get(job, self._held[job])
            if after is not None and _holds(after, machine):
                text = f"is on a machine that changes to pool {pool!r}; it must stop or move away"
                raise self._error(job, text, machine)

    # --- messages

    def _at(self, machine: int | None = None) -> str:
        where = (
            ""
            if machine is None or not 0 <= machine < len(self._cluster)
            else (f" on machine {self._cluster.machines[machine].name}")
        )
        return f"{where} at {ns_to_seconds(self._now)} s"

    def _error(self, job: int, text: str, machine: int | None = None) -> PlanError:
        return PlanError(f"job {self._jobs.specs[job].job_id!r}: {text}{self._at(machine)}")


def _whole_numbers(values: Iterable[object]) -> bool:
    for value in values:  # noqa: SIM110 - twice as fast as `all` of a generator
        if type(value) is not int and not isinstance(value, Integral):
            return False
    return True


def _holds(allocation: Allocation, machine: int) -> bool:
    """Return whether a job or its group holds something on a machine."""
    owned = allocation.group.gpus if allocation.group else ()
    return any(s.machine == machine for s in allocation.slices) or any(m == machine for m, _ in owned)
