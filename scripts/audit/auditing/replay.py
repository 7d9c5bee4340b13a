"""Replay of events.parquet: resources held by job, and for how long."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache

import pandas as pd

from auditing.accounts import Account, Owned, Share
from auditing.findings import Findings
from auditing.inputs import EVENT_CELLS, RunFiles, asked, checkpoint_ns, to_ns
from auditing.quotas import Quotas

TIERS = ("machine", "rack", "network")
STATES = {"fail": "repair", "join": "present", "spare": "spare", "left": "absent", "check": "check"}
STARTS, CHANGES = ("start", "resume", "restart"), ("retune", "resize", "migrate")
GIVEN, DEMAND, LEGAL, CLOSED, SHARED, COST, LIMIT = (
    "GPUs, CPUs and memory of a machine given once at most",
    "demand met: GPUs, machines, GPU types",
    "events follow each other legally",
    "nothing new on a machine that is closed or gone",
    "groups: members hold at most the group's GPUs, all together at most depth times",
    "kind of a change follows from the allocation before",
    "no job holds GPUs beyond its time limit, and a timeout comes at the limit",
)


class Replay:
    """Accounts of all jobs, the gauges by time, and the machines, from the events of a run.

    Parameters
    ----------
    run
        The files.
    findings
        Gets every fault.
    """

    def __init__(self, run: RunFiles, findings: Findings) -> None:
        self._run, self._found, self._quotas = run, findings, Quotas(run, findings)
        overheads = run.config["overheads"]
        self._notice_ns = to_ns(overheads.get("notice_s", 0))
        self._write_ns = to_ns(overheads.get("checkpoint_write_s", 0))
        self._recover_s = overheads.get("recover_s")
        self.rates = bool((run.events["kind"] == "reprice").any())
        self.slow: dict[str, float] = {}
        self.gpu_ns, self.failed, self.stopped = Counter[str](), Counter[str](), Counter[str]()
        self._cause = "failure"
        self._hit: dict[str, int] = {}  # GPUs of jobs that wait since a failure
        self.machines = {machine.name: machine for machine in run.machines}
        self.present = {machine.name: machine.present for machine in run.machines}
        self.accepts = dict(self.present)
        self.states = {machine.name: "present" if machine.present else "absent" for machine in run.machines}
        self.accounts = self._accounts()
        exact = (a.asked.delays_ns is not None and not a.asked.observed for a in self.accounts.values())
        self.by_cause = self.rates and all(exact)  # else the first iteration may be shorter than the rest
        self.placements = dict.fromkeys(TIERS, 0)
        self.busy_gpu_ns = self.capacity_gpu_ns = self.group_gpu_ns = 0
        self.capacity = sum(m.gpus for m in run.machines if m.present)
        self.room: list[tuple[int, int, int, int]] = []
        self._note_room(0)
        self._used: dict[str, int] = dict.fromkeys(self.machines, 0)
        self._by_groups = dict(self._used)
        self._on: dict[str, dict[str, None]] = {name: {} for name in self.machines}
        self._owners: dict[str, dict[str, None]] = {name: {} for name in self.machines}
        self._records: dict[str, Owned] = {}
        self._members: dict[str, dict[str, None]] = defaultdict(dict)
        self._touched: dict[str, None] = {}
        self._groups: dict[str, None] = {}
        self._busy = self._grouped = self._waiting = self._running = 0
        self._started = False
        self.end_ns = 0
        self.rows: list[tuple[int, ...]] = [(0, 0, self.capacity, 0, 0)]

    def _accounts(self) -> dict[str, Account]:
        wanted = asked(self._run)
        accounts = {}
        for row in self._run.jobs.to_dict("records"):
            one = wanted[row["job_id"]]
            compute_ns = to_ns(row["ideal_s"]) / (one.iterations or row["iterations"] or 1)
            since = min(checkpoint_ns(self._run, one.gpus) / max(1, compute_ns), 2**62)
            every = {"lose_all": 0, "lose_since_checkpoint": max(1, round(since))}
            account = Account(row["job_id"], one, to_ns(row["submit_s"]), every.get(str(one.on_stop), 1))
            if one.on_stop == "lose_since_checkpoint":
                account.write_ns = round(self._write_ns / account.every)
            accounts[row["job_id"]] = account
        return accounts

    def run(self) -> None:
        """Replay everything, to the end of the run."""
        events = self._run.events
        times = [to_ns(time_s) for time_s in events["time_s"]]
        cells = zip(
            *(events[name].astype(object).where(events[name].notna(), None) for name in EVENT_CELLS),
            strict=True,
        )
        self._found.hold(LEGAL, times == sorted(times), "the events are not in order of time")
        for now, (kind, job, reason, *rest, iteration_s) in zip(times, cells, strict=True):
            if now != self.end_ns:
                self._close(now)
            account = self.accounts.get(job)
            if job is not None and account is None:
                self._found.hold(
                    LEGAL, False, "{} at {} s of no job of jobs.parquet", kind, now / 1e9, job=job
                )
            elif kind in STARTS + CHANGES and account:
                self._place(now, kind, account, *rest)
            elif account:
                self._happen(now, kind, account, reason, iteration_s)
            elif kind != "wake":
                self._machine(now, kind, rest[0], reason)
        last_ns = to_ns(self._run.timeline["time_s"].iloc[-1])
        if last_ns > self.end_ns:
            self._close(last_ns)
        self._close(self.end_ns)
        for account in self.accounts.values():
            self._book_rest(account)
            account.keep()
            self.gpu_ns.update(account.gpu_ns)
        self.gpu_ns["shared"] = self.group_gpu_ns

    def _book_rest(self, account: Account) -> None:
        if account.state == "running":
            account.advance(self.end_ns)
        elif account.state == "waiting":
            account.queueing_ns += self.end_ns - account.since_ns

    # --- jobs

    def _legal(self, now: int, kind: str, account: Account, *states: str) -> None:
        good, text = account.state in states, "{} at {} s of a job that is {}, not {}"
        self._found.hold(LEGAL, good, text, kind, now / 1e9, account.state, states, job=account.name)

    def _happen(
        self, now: int, kind: str, account: Account, reason: str | None, iteration_s: float | None
    ) -> None:
        if kind == "arrival":
            self._legal(now, kind, account, "pending")
            self._found.same("arrival times", now, account.submit_ns, job=account.name)
            account.state, account.since_ns = "waiting", now
            self._waiting += 1
            return
        self._legal(now, kind, account, "waiting" if kind == "pending" else "running")
        if kind == "pending":
            return
        if kind == "reprice":
            factor = max((self.slow.get(name, 1.0) for name in account.held), default=1.0)
            account.price(now, to_ns(iteration_s or 0), factor)
        elif kind == "stop":
            self._stop(now, account, str(reason))
        else:
            self._release(now, account)
            account.state = "finished"
            account.timed_out, account.cancelled = reason == "timeout", reason == "cancelled"
            if account.cancelled:
                account.count("preempted")
            self._check_limit(now, account)
            account.finish(now, self._notice_ns)

    def _check_limit(self, now: int, account: Account) -> None:
        """Hold the time since the last start against the limit, at which a job that is not done ends."""
        held_ns, limit_ns = now - account.last_start_ns, account.asked.limit_ns
        if limit_ns is None:
            return
        good = held_ns == limit_ns if account.timed_out else held_ns <= (limit_ns or held_ns)
        text = "ends {} s after its last start, limit {} s"
        self._found.hold(LIMIT, good, text, held_ns / 1e9, limit_ns / 1e9, job=account.name)

    def _release(self, now: int, account: Account) -> None:
        account.advance(now)
        self._take(account, {}, None)
        self._running -= account.state == "running"

    def _stop(self, now: int, account: Account, reason: str) -> None:
        account.before = frozenset(account.held)
        failed = reason == "evicted" and any(not self.present[name] for name in self._reach(account))
        self._release(now, account)
        account.stopped = "saved" if account.asked.saves and not failed else ""
        if failed:
            self._fail(account, len(account.before))
        elif account.stopped == "saved":
            account.save()
        elif not account.keeps:
            account.lose_to_checkpoint()
        if failed:
            self._hit[account.name] = account.asked.gpus
        account.count(reason)
        account.state, account.since_ns = "waiting", now
        self._waiting += 1

    def _fail(self, account: Account, machines: int) -> None:
        account.failures_on[machines] += 1
        account.stopped = "failed"
        account.lose_to_checkpoint()
        account.failures += 1
        self.stopped[self._cause] += 1

    @staticmethod
    def _reach(account: Account) -> list[str]:
        return [*account.held, *(name for name, _ in (account.group.gpus if account.group else ()))]

    def _place(self, now: int, kind: str, account: Account, allocation: str, group: str | None,
               group_gpus: str | None, depth: float | None, cpus: str, memory: str) -> None:  # fmt: skip
        shares = shares_of(allocation.split(" ")[0], cpus, memory)
        unknown = [name for name in shares if name not in self.machines]
        text = "{} at {} s on {}, which are no machines"
        if not self._found.hold(LEGAL, not unknown, text, kind, now / 1e9, unknown, job=account.name):
            return
        owned = Owned(group, tuple(gpus_of(group_gpus or "").items()), int(depth or 0)) if group else None
        self._legal(now, kind, account, "waiting" if kind in STARTS else "running")
        self._check_kind(now, kind, account, shares)
        self._check_demand(now, account, shares)
        self._check_open(now, account, shares)
        if account.state == "running":
            account.advance(now)
            if kind == "resize" and not all(self.present[name] for name in account.held):
                self._fail(account, len(account.held))
            elif kind == "migrate" and not account.keeps:
                account.lose_iteration()
        else:
            self._start(now, account)
        account.count("starts" if kind in STARTS else kind)
        self._delay(now, kind, account)
        account.tier = self._tier(shares)
        self.placements[TIERS[account.tier]] += kind != "retune"
        self._take(account, shares, owned)

    def _delay(self, now: int, kind: str, account: Account) -> None:
        """Set the end and the cause of a job's delay."""
        delay_ns, failed = (account.asked.delays_ns or {}).get(kind, 0), account.stopped == "failed"
        if failed and self._recover_s is not None:
            delay_ns = to_ns(self._recover_s)
        delay_ns += self._write_ns * (account.stopped == "saved")
        if kind in STARTS or now + delay_ns > account.ready_ns:
            account.delay = "recovery" if failed else "overhead"
        account.stopped = ""
        self._hit.pop(account.name, None)
        account.ready_ns = max(account.ready_ns, now + delay_ns)

    def _start(self, now: int, account: Account) -> None:
        self._quotas.start(now, account)
        self._started = True
        self._waiting -= account.state == "waiting"
        self._running += 1
        account.queueing_ns += now - account.since_ns
        account.state, account.settled_ns, account.ready_ns = "running", now, now
        account.last_start_ns = now
        account.first_start_ns = now if account.first_start_ns is None else account.first_start_ns

    def _tier(self, shares: Iterable[str]) -> int:
        names = list(shares)
        racks = {self.machines[name].rack for name in names}
        return 2 if len(racks) > 1 else 1 if len(names) > 1 else 0

    # --- rules

    def _check_kind(self, now: int, kind: str, account: Account, shares: dict[str, Share]) -> None:
        old, new = (
            {name: share.gpus for name, share in by_machine.items()} for by_machine in (account.held, shares)
        )
        stays = any(gpus and new.get(name) for name, gpus in old.items())
        if kind in STARTS and account.first_start_ns is None:
            right = ["start"]
        elif kind in STARTS:
            right = ["resume"] if account.before == set(new) else ["restart"]
        elif old == new:
            right = ["retune"]
        elif stays and account.asked.elastic is None:
            right = ["resize", "migrate"]
        else:
            right = ["resize"] if stays and account.asked.elastic else ["migrate"]
        self._found.hold(COST, kind in right, "{} at {} s is {}", kind, now / 1e9, right, job=account.name)

    def _check_demand(self, now: int, account: Account, shares: dict[str, Share]) -> None:
        asked, gpus = account.asked, sum(share.gpus for share in shares.values())
        types = dict.fromkeys(self.machines[name].gpu_type for name in shares)
        account.gpus_held[gpus] = None
        account.types_held |= types
        pools = dict.fromkeys(self.machines[name].pool for name in shares)
        strange = [pool for pool in pools if pool and asked.partition not in (None, pool)]
        wrong = [kind for kind in types if asked.gpu_types and kind not in asked.gpu_types]
        racks = Counter[int]()
        for name, share in shares.items():
            racks[self.machines[name].rack] += share.gpus
        for good, got, wanted in (
            (
                not any(share.gpus % asked.unit for share in shares.values()),
                f"{[share.gpus for share in shares.values()]} GPUs by machine",
                f"units of {asked.unit}",
            ),
            (
                not any(gpus_there % asked.segment for gpus_there in racks.values()),
                f"{list(racks.values())} GPUs by rack",
                f"segments of {asked.segment}",
            ),
            (asked.counts is None or gpus in asked.counts, f"{gpus} GPUs", asked.counts),
            (
                len(shares) <= (asked.max_machines or len(shares)),
                f"{len(shares)} machines",
                asked.max_machines,
            ),
            (not wrong, f"GPUs of {wrong}", asked.gpu_types),
            (not strange, f"machines of {strange}", asked.partition),
        ):
            text = "gets {} at {} s; asked for {}"
            self._found.hold(DEMAND, good, text, got, now / 1e9, wanted, job=account.name)

    def _check_open(self, now: int, account: Account, shares: dict[str, Share]) -> None:
        for name, share in shares.items():
            had = account.held.get(name, Share(0, 0, 0))
            good = self.accepts[name] or all(new <= old for new, old in zip(share, had, strict=True))
            text = "gets {} at {} s, had {}"
            self._found.hold(CLOSED, good, text, share, now / 1e9, had, job=account.name, machine=name)

    # --- machines

    def _machine(self, now: int, kind: str, name: str | None, reason: str | None) -> None:
        machine, text = str(name), "{} at {} s of no machine"
        if not self._found.hold(LEGAL, machine in self.machines, text, kind, now / 1e9, machine=machine):
            return
        self._touched[machine] = None
        self.states[machine] = STATES.get(kind, self.states[machine])
        if kind == "left" and reason:
            self.states[machine] = "repair"  # drained
        if kind == "fail" or (kind == "leave" and reason):
            self._cause = reason or "failure"
            self.failed[self._cause] += 1
        if kind == "slow":
            self.slow[machine] = float(str(reason).rpartition(" ")[2])
        elif kind == "leave":
            self.accepts[machine] = False
        elif kind in ("fail", "left", "join"):
            there = kind == "join"
            self.capacity += self.machines[machine].gpus * (there - self.present[machine])
            self.present[machine] = self.accepts[machine] = there
            self._note_room(now)

    def _note_room(self, now: int) -> None:
        """Note when there are how many GPUs, CPUs and bytes."""
        there = [self.machines[name] for name, present in self.present.items() if present]
        sums = (sum(m.gpus for m in there), sum(m.cpus for m in there), sum(m.memory_bytes for m in there))
        self.room.append((now, *sums))

    def _take(self, account: Account, shares: dict[str, Share], owned: Owned | None) -> None:
        """Set the shares that a job holds."""
        for name in account.held:
            self._on[name].pop(account.name, None)
        for name in shares:
            self._on[name][account.name] = None
        self._touched |= dict.fromkeys([*account.held, *shares])
        for group in (account.group, owned):
            if group:
                self._groups[group.name] = None
                self._members[group.name].pop(account.name, None)
        if owned:
            self._members[owned.name][account.name] = None
        account.held, account.group = shares, owned

    def _close(self, now: int) -> None:
        """Check the state after an instant, note its gauges, and go on to the next."""
        at = self.end_ns
        for group in self._groups:
            self._check_group(at, group)
        for machine in self._touched:
            self._check_machine(at, machine)
        if self._started:
            self._quotas.check(at, self.accounts.values())
        self._touched, self._groups, self._started = {}, {}, False
        row = (at, self._busy, self.capacity, self._waiting, self._running)
        if self.rows[-1][0] == at:
            self.rows[-1] = row
        elif self.rows[-1][1:] != row[1:]:
            self.rows.append(row)
        span = now - at
        self.busy_gpu_ns += span * self._busy
        self.group_gpu_ns += span * self._grouped
        self.capacity_gpu_ns += span * self.capacity
        closing = [m for m, there in self.present.items() if there and not self.accepts[m]] if span else ()
        closed = sum(self.machines[name].gpus - self._used[name] for name in closing)
        self.gpu_ns["draining"] += span * closed
        idle = self.capacity - self._busy - closed
        awaited = min(idle, sum(self._hit.values()))
        self.gpu_ns["replacement"] += span * awaited
        self.gpu_ns["idle"] += span * (idle - awaited)
        for name, state in self.states.items() if span else ():
            if state != "present":
                self.gpu_ns[state] += span * self.machines[name].gpus
        self.end_ns = now

    def _check_group(self, at: int, name: str) -> None:
        old = self._records.pop(name, None)
        for machine, _ in old.gpus if old else ():
            self._owners[machine].pop(name, None)
            self._touched[machine] = None
        members = [self.accounts[job] for job in self._members[name]]
        if not members or members[0].group is None:
            return
        owned = self._records[name] = members[0].group
        owned_gpus, total = dict(owned.gpus), dict.fromkeys(self.machines, 0)
        for machine in owned_gpus:
            self._owners[machine][name] = None
            self._touched[machine] = None
        for member in members:
            same, text = member.group == owned, "another record of {} at {} s than others"
            self._found.hold(SHARED, same, text, name, at / 1e9, job=member.name)
            for machine, share in member.held.items():
                most = owned_gpus.get(machine, 0)
                total[machine] += share.gpus
                good = share.gpus <= most and total[machine] <= owned.depth * most
                text = "{} GPUs, {} with other members, of {} of group {} at {} s, depth {}"
                values = (share.gpus, total[machine], most, name, at / 1e9, owned.depth)
                self._found.hold(SHARED, good, text, *values, job=member.name, machine=machine)

    def _check_machine(self, at: int, name: str) -> None:
        """Recount the resources held on a machine: GPUs of jobs without a group, and those of groups once."""
        machine, jobs = self.machines[name], [self.accounts[job] for job in self._on[name]]
        grouped = sum(dict(self._records[group].gpus)[name] for group in self._owners[name])
        used = grouped + sum(job.held[name].gpus for job in jobs if job.group is None)
        sums = (
            used,
            sum(job.held[name].cpus for job in jobs),
            sum(job.held[name].memory_bytes for job in jobs),
        )
        room = (machine.gpus, machine.cpus, machine.memory_bytes) if self.present[name] else (0, 0, 0)
        for resource, taken, there in zip(("GPUs", "CPUs", "bytes"), sums, room, strict=True):
            text, values = (
                "{} {} of {} held at {} s by {}",
                (taken, resource, there, at / 1e9, list(self._on[name])),
            )
            self._found.hold(GIVEN, taken <= there, text, *values, machine=name)
        self._busy += used - self._used[name]
        self._grouped += grouped - self._by_groups[name]
        self._used[name], self._by_groups[name] = used, grouped


@lru_cache(maxsize=100_000)
def gpus_of(text: str) -> dict[str, int]:
    """Return GPUs by machine of a text such as m3:8+m4:8."""
    pairs = (part.rpartition(":") for part in text.split("+") if part)
    return {name: int(gpus) for name, _, gpus in pairs}


@lru_cache(maxsize=100_000)
def shares_of(gpus: str, cpus: str, memory: str) -> dict[str, Share]:
    """Return the shares held, by machine; not to be changed, since they are remembered."""
    held = gpus_of(gpus)
    parts = zip(held.items(), cpus.split("+"), memory.split("+"), strict=True)
    return {name: Share(count, int(c), int(m)) for (name, count), c, m in parts}


def gauges(timeline: pd.DataFrame) -> list[tuple[int, ...]]:
    """Return the rows of timeline.parquet, times in ns."""
    names = ["busy_gpus", "capacity_gpus", "queue_length", "running_jobs"]
    times = [to_ns(time_s) for time_s in timeline["time_s"]]
    return list(zip(times, *(timeline[name].astype(int).tolist() for name in names), strict=True))
