"""Limits of QOS and associations: the reason for which a job has to wait, as Slurm names it."""

from collections.abc import Callable, Collection, Iterable

from artist.policies.slurm.configuration import Association, Qos, Tres
from artist.policies.slurm.job import Job

_SHORT = {"cpu": "Cpu", "gres/gpu": "GRES", "mem": "Mem", "node": "Node"}


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

    def reason(self, job: Job, running: Collection[Job]) -> str:
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

    def _is_in(self, job: Job, association: Association) -> bool:
        if association.User:
            return (job.account, job.user) == (association.Account, association.User)
        return any(one is association for one in self.above(job.account, ""))


def _qos_reason(job: Job, qos: Qos, running: Collection[Job]) -> str:
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
    return "QOSMaxJobsPerUserLimit" if _reached(len(of_user), qos.MaxJobsPerUser) else ""


def _reached(count: int, limit: int | None) -> bool:
    return limit is not None and count >= limit


def _exceeded(job: Job, running: Iterable[Job], most: Tres) -> str:
    """Return the first resource of which a job and the running ones would use more than the most."""
    total: Callable[[str], float] = lambda name: sum(one.tres.get(name, 0) for one in (job, *running))  # noqa: E731
    return next((name for name, limit in most.items() if total(name) > limit), "")
