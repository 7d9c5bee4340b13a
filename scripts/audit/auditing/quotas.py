"""Limits of QOS and associations, of Slurm and around other policies, recounted after every instant."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from auditing.accounts import Account
from auditing.findings import Findings
from auditing.inputs import RunFiles, to_ns

CHECK = "running jobs within the limits of QOS and associations"
ALONE = "Slurm: exclusive jobs alone on their machines"
AGAIN = "Slurm: a stopped job waits for 121 s"
_TARGET = "artist.policies.slurm.policy.Slurm"
_AGAIN_NS = to_ns(121)


class _Job(NamedTuple):
    account: str
    user: str
    qos: str
    partition: str


def _exclusive(partitions: list[dict[str, Any]]) -> set[str]:
    """Return the names of exclusive partitions, an empty one for jobs that name none."""
    default = sorted(partitions, key=lambda one: not one.get("Default"))[:1]
    named = [*((one["PartitionName"], one) for one in partitions), *(("", one) for one in default)]
    return {name for name, one in named if one.get("OverSubscribe") == "EXCLUSIVE"}


class Quotas:
    """The limits of a run, but for those of Slurm where each partition has its own."""

    def __init__(self, run: RunFiles, findings: Findings) -> None:
        policy = run.config["policy"]
        self.is_slurm = policy["_target_"] == _TARGET
        cluster = run.config["cluster"]
        one = not self.is_slurm or cluster.get("one_pool") or not cluster.get("partition_by")
        limits = policy if self.is_slurm else run.config.get("quotas") or {}
        qos, associations = ((limits.get(n) or []) if one else [] for n in ("qos", "associations"))
        self._qos = {str(one["Name"]): one for one in qos}
        self._associations = {(one["Account"], one.get("User") or ""): one for one in associations}
        self._alone = _exclusive(policy.get("partitions") or []) if self.is_slurm else set()
        columns = [run.jobs[n] if n in run.jobs else [""] * len(run.jobs) for n in _Job._fields]
        self._jobs = dict(zip(run.jobs["job_id"], map(_Job, *columns), strict=True))
        self._found = findings

    def start(self, now: int, account: Account) -> None:
        """Hold the start of a job that was stopped before against the time that it has to wait."""
        if self.is_slurm and account.held_ns:
            good, text = now - account.since_ns >= _AGAIN_NS, "starts {} s after its stop"
            self._found.hold(AGAIN, good, text, (now - account.since_ns) / 1e9, job=account.name)

    def check(self, at: int, accounts: Iterable[Account]) -> None:
        """Hold the running jobs against all limits."""
        if not self._qos and not self._associations and not self._alone:
            return
        running = [account for account in accounts if account.state == "running"]
        jobs_on = Counter(machine for account in running for machine in account.held)
        for account in running if self._alone else ():
            if self._jobs[account.name].partition in self._alone:
                alone = all(jobs_on[machine] == 1 for machine in account.held)
                self._found.hold(ALONE, alone, "shares a machine at {} s", at / 1e9, job=account.name)
        for name, one in self._qos.items():
            members = [account for account in running if self._jobs[account.name].qos == name]
            self._hold(at, f"QOS {name}", members, one.get("GrpTRES"), one.get("GrpJobs"))
            for user, of_user in self._by(members, lambda job: job.user).items():
                limits = one.get("MaxTRESPerUser"), one.get("MaxJobsPerUser")
                self._hold(at, f"QOS {name}, user {user}", of_user, *limits)
        for (name, user), one in self._associations.items():
            members = [a for a in running if (name, user) in self._above(self._jobs[a.name])]
            self._hold(at, f"account {name} {user}".strip(), members, one.get("GrpTRES"), one.get("GrpJobs"))
            for pair, alike in self._by(members, lambda job: (job.account, job.user)).items():
                self._hold(at, f"account {name}, {pair}", alike, None, one.get("MaxJobs"))

    def _above(self, job: _Job) -> list[tuple[str, str]]:
        """Return the associations that a job counts for: its user's, its account's, and those above."""
        above, name = [(job.account, job.user)] * bool(job.user), job.account
        while (name, "") in self._associations:
            above.append((name, ""))
            name = self._associations[name, ""].get("Parent") or ""
        return above

    def _by(self, members: Iterable[Account], key: Callable[[_Job], Any]) -> Mapping[Any, list[Account]]:
        groups = defaultdict(list)
        for account in members:
            groups[key(self._jobs[account.name])].append(account)
        return groups

    def _hold(
        self, at: int, name: str, members: list[Account], tres: Mapping[str, float] | None, jobs: int | None
    ) -> None:
        used = {
            "gres/gpu": sum(share.gpus for account in members for share in account.held.values()),
            "node": sum(len(account.held) for account in members),
        }
        limits = [(used[key], most, key) for key, most in (tres or {}).items() if key in used]
        limits += [] if jobs is None else [(len(members), jobs, "jobs")]
        for count, most, what in limits:
            text = "{} holds {} {} at {} s, of {}"
            self._found.hold(CHECK, count <= most, text, name, count, what, at / 1e9, most)
