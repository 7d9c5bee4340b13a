"""Fair share: usage of accounts and users, which decays, against their shares; classic and fair tree."""

from collections.abc import Iterable

from artist.policies.parts.limits import Association
from artist.policies.slurm.job import Job
from artist.units import NS_PER_S

Key = tuple[str, str]
_ROOT: Key = "", ""
_LN2 = 0.693  # as Slurm has it


class FairShare:
    """Factors of fair share.

    Classic: 2^-(U / S), with S the product of the association's shares among its siblings, from root on, and
    U its usage: U = own part + (U of the parent - own part) x its share among its siblings, parts being of
    the usage of all. The root user is one of the children of root, with one share. Fair tree: users in order
    of shares / usage of their accounts, level by level, then of their own; the first has 1.

    Usage is billed CPU-seconds. An account's U is of the beginning of the last recalculation, a user's of its
    first use after that.

    Parameters
    ----------
    half_life_ns
        PriorityDecayHalfLife; 0 for no decay.
    tree
        Whether by the fair tree algorithm.
    """

    def __init__(self, associations: Iterable[Association], half_life_ns: int, *, tree: bool) -> None:
        self._parent: dict[Key, Key] = {}
        self._shares: dict[Key, int] = {("root", "root"): 1}
        for one in associations:
            key, above = (one.Account, one.User), one.Account if one.User else one.Parent
            if key != ("root", ""):
                self._parent[key], self._shares[key] = ("" if above == "root" else above, ""), one.Fairshare
        self._parent["root", "root"] = _ROOT
        self._siblings: dict[Key, int] = {}
        for child, parent in self._parent.items():
            self._siblings[parent] = self._siblings.get(parent, 0) + self._shares[child]
        self._decay = 1 - _LN2 * NS_PER_S / half_life_ns if half_life_ns else 1.0
        self.tree = tree
        self.usage: dict[Key, float] = dict.fromkeys((_ROOT, *self._parent), 0.0)
        self._effective: dict[Key, float] = {}
        self._factors: dict[Key, float] = {}
        self.calculated_ns = 0

    def decay(self, now_ns: int) -> None:
        """Let all usage decay up to now; effective usage is that of now."""
        factor = self._decay ** ((now_ns - self.calculated_ns) / NS_PER_S)
        self.usage = {key: used * factor for key, used in self.usage.items()}
        self._effective, self._factors = {}, {}
        for key in self._parent:
            if not key[1]:
                self._effective_of(key)

    def add(self, job: Job, until_ns: int) -> None:
        """Add the usage of a job since the last recalculation, up to a time or its end."""
        key = job.account, job.user
        seconds = max(0, until_ns - max(job.start_ns, self.calculated_ns)) / NS_PER_S
        factor = job.qos.UsageFactor if job.qos is not None else 1.0
        used = seconds * self._decay**seconds * job.billing * factor
        while key in self._parent:
            self.usage[key] += used
            key = self._parent[key]
        self.usage[_ROOT] += used

    def factor(self, account: str, user: str) -> float:
        """Return the factor of a user in an account, 0 if it has no association."""
        key = account, user
        if key not in self._parent:
            return 0.0
        if key not in self._factors:
            if self.tree:
                self._factors = self._ranked()
            else:
                self._factors[key] = 2.0 ** -(self._effective_of(key) / self._share(key))
        return self._factors[key]

    def _share(self, key: Key) -> float:
        """Return an association's part of all shares."""
        part = 1.0
        while key in self._parent:
            part *= self._shares[key] / self._siblings[self._parent[key]]
            key = self._parent[key]
        return part

    def _effective_of(self, key: Key) -> float:
        if key not in self._effective:
            part = self.usage[key] / self.usage[_ROOT] if self.usage[_ROOT] else 0.0
            above = self._parent[key]
            if above != _ROOT:
                share = self._shares[key] / self._siblings[above]
                part += (self._effective_of(above) - part) * share
            self._effective[key] = part
        return self._effective[key]

    def _ranked(self) -> dict[Key, float]:
        """Return the factors of all users by the fair tree."""
        order: list[Key] = []

        def visit(above: Key) -> None:
            children = [key for key, parent in self._parent.items() if parent == above]
            children.sort(key=lambda key: (-self._level(key), key))
            for key in children:
                if key[1]:
                    order.append(key)
                else:
                    visit(key)

        visit(_ROOT)
        return {key: (len(order) - place) / len(order) for place, key in enumerate(order)}

    def _level(self, key: Key) -> float:
        """Return an association's share among its siblings over its part of their usage."""
        above = self._parent[key]
        used = self.usage[key] / self.usage[above] if self.usage[above] else 0.0
        share = self._shares[key] / self._siblings[above]
        return share / used if used else float("inf")
