"""Limits of QOS, accounts and users, as Slurm has them: the reason for which a job has to wait.

Source: the manual page sacctmgr(1) of Slurm 22.05. Shared by policies.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from typing import Annotated, Literal, Protocol

from pydantic import Field
from pydantic.dataclasses import dataclass

from artist.policies.parts.parameters import STRICT

Tres = dict[str, Annotated[float, Field(ge=0)]]
Mode = Literal["OFF", "REQUEUE", "CANCEL"]
_SHORT = {"cpu": "Cpu", "gres/gpu": "GRES", "mem": "Mem", "node": "Node"}


@dataclass(config=STRICT, frozen=True)
class Qos:
    """A QOS, as sacctmgr has it.

    Attributes
    ----------
    Priority, UsageFactor, GraceTime
        Of its jobs: priority over those of the other QOS, factor of their usage, seconds until they stop.
    Preempt, PreemptMode
        The QOS that its jobs may preempt; whether its own may be preempted, and then wait again or end.
    GrpTRES, GrpJobs
        The most that its running jobs use together, by cpu, gres/gpu and node; the most running jobs.
    MaxTRESPerUser, MaxJobsPerUser
        The same per user.
    """

    Name: str
    Priority: int = Field(default=0, ge=0)
    Preempt: tuple[str, ...] = ()
    PreemptMode: Mode | None = None
    GraceTime: float = Field(default=0, ge=0, le=4e9)
    UsageFactor: float = Field(default=1, ge=0, le=1e6)
    GrpTRES: Tres = field(default_factory=dict)
    GrpJobs: int | None = Field(default=None, ge=0)
    MaxTRESPerUser: Tres = field(default_factory=dict)
    MaxJobsPerUser: int | None = Field(default=None, ge=0)


@dataclass(config=STRICT, frozen=True)
class Association:
    """An account, or a user in an account, as sacctmgr has it.

    Attributes
    ----------
    User
        Empty for the account itself.
    Parent
        Account above an account; empty for root.
    Fairshare
        Shares among those with the same parent.
    GrpTRES, GrpJobs
        The most that running jobs of the association, and of those below it, use together.
    MaxJobs
        The most running jobs of the user; of an account: of each of its users.
    """

    Account: str = Field(min_length=1)
    User: str = ""
    Parent: str = ""
    Fairshare: int = Field(default=1, ge=1)
    GrpTRES: Tres = field(default_factory=dict)
    GrpJobs: int | None = Field(default=None, ge=0)
    MaxJobs: int | None = Field(default=None, ge=0)


class Limited(Protocol):
    """A job that limits hold for; its resources have their names in Slurm."""

    @property
    def qos(self) -> Qos | None:
        """QOS."""

    @property
    def account(self) -> str:
        """Account."""

    @property
    def user(self) -> str:
        """User."""

    @property
    def tres(self) -> Mapping[str, float]:
        """Resources."""


def check_names(what: str, names: Iterable[str]) -> None:
    """Refuse names that are there twice."""
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"{what} has {twice[0]} twice; one entry each")


def check_limits(qos: Iterable[Qos], associations: Iterable[Association]) -> None:
    """Refuse names that are there twice, accounts that are no tree below root, and users in no account."""
    check_names("qos", [one.Name for one in qos])
    check_names("associations", [f"{one.User} {one.Account}".strip() for one in associations])
    above = {"root": ""} | {one.Account: one.Parent for one in associations if not one.User}
    for one in associations:
        if one.User and one.Account not in above:
            raise ValueError(f"associations has user {one.User} of {one.Account}, which is not there")
    for account in above:
        passed, parent = [account], above[account]
        while parent:
            if parent not in above or parent in passed:
                problem = "is below itself" if parent in above else "is not there"
                raise ValueError(f"associations has {passed[-1]} below {parent}, which {problem}")
            passed.append(parent)
            parent = above[parent]


class Limits:
    """Counts running jobs and their resources against the limits.

    Parameters
    ----------
    associations
        Of accounts and users.
    """

    def __init__(self, associations: Iterable[Association]) -> None:
        self._of = {(one.Account, one.User): one for one in associations}

    def above(self, account: str, user: str) -> list[Association]:
        """Return a user's association, its account, and the accounts above, as far as they are known."""
        above = [self._of[account, user]] if user and (account, user) in self._of else []
        while (account, "") in self._of:
            one = self._of[account, ""]
            above.append(one)
            account = one.Parent
        return above

    def reason(self, job: Limited, running: Collection[Limited]) -> str:
        """Return the reason for which a job may not start now, empty if it may."""
        if job.qos is not None and (reason := _qos_reason(job, job.qos, running)):
            return reason
        for one in self.above(job.account, job.user):
            members = [other for other in running if self._is_in(other, one)]
            if one.GrpTRES and (name := _exceeded(job, members, one.GrpTRES)):
                return f"AssocGrp{_SHORT.get(name, name)}"
            if one.GrpJobs is not None and len(members) >= one.GrpJobs:
                return "AssocGrpJobsLimit"
            alike = [other for other in members if (other.account, other.user) == (job.account, job.user)]
            if one.MaxJobs is not None and len(alike) >= one.MaxJobs:
                return "AssocMaxJobsLimit"
        return ""

    @property
    def any(self) -> bool:
        """True if there are associations."""
        return bool(self._of)

    def _is_in(self, job: Limited, association: Association) -> bool:
        if association.User:
            return (job.account, job.user) == (association.Account, association.User)
        return any(one is association for one in self.above(job.account, ""))


def _qos_reason(job: Limited, qos: Qos, running: Collection[Limited]) -> str:
    if not (qos.GrpTRES or qos.MaxTRESPerUser) and qos.GrpJobs is None and qos.MaxJobsPerUser is None:
        return ""
    members = [other for other in running if other.qos is qos]
    of_user = [other for other in members if other.user == job.user]
    if name := _exceeded(job, members, qos.GrpTRES):
        return f"QOSGrp{_SHORT.get(name, name)}"
    if name := _exceeded(job, of_user, qos.MaxTRESPerUser):
        return f"QOSMax{_SHORT.get(name, name)}PerUser"
    if qos.GrpJobs is not None and len(members) >= qos.GrpJobs:
        return "QOSGrpJobsLimit"
    if qos.MaxJobsPerUser is not None and len(of_user) >= qos.MaxJobsPerUser:
        return "QOSMaxJobsPerUserLimit"
    return ""


def _exceeded(job: Limited, running: Iterable[Limited], most: Tres) -> str:
    """Return the first resource of which a job and the running ones would use more than the most."""
    if not most:
        return ""
    used = [one.tres for one in (job, *running)]
    return next((name for name, limit in most.items() if sum(tres.get(name, 0) for tres in used) > limit), "")
