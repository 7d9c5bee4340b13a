"""Tree of cohorts and cluster queues: their quotas, and the use that counts against these.

A node has its nominal quota and those of the nodes below, as far as these lend them. Use counts at a queue
first against the part that it does not lend, and beyond it at its cohort, and so on to the root.
"""

from collections.abc import Iterable, Iterator, Mapping

from artist.errors import InputError
from artist.policies.kueue.configuration import ClusterQueue, Cohort, Quota

Key = tuple[str, str]  # flavor and resource
_NONE = Quota("none")


class Node:
    """A cluster queue, or a cohort; amounts are of one resource in one flavor.

    Attributes
    ----------
    held
        Use that counts at the node.
    """

    def __init__(self, quotas: Mapping[Key, Quota], parent: "Node | None" = None) -> None:
        self.quotas, self.parent, self.children = quotas, parent, list[Node]()
        self.held: dict[Key, float] = {}
        self._total: dict[Key, float] = {}
        if parent is not None:
            parent.children.append(self)

    def above(self) -> Iterator["Node"]:
        """Yield the cohorts above, the nearest first."""
        if self.parent is not None:
            yield self.parent
            yield from self.parent.above()

    @property
    def height(self) -> int:
        """Number of levels below."""
        return max((1 + child.height for child in self.children), default=0)

    def add(self, usage: Mapping[Key, float], sign: int = 1) -> None:
        """Add use to a queue, or remove it; the part that it does not keep to itself counts at its cohort."""
        for key, value in usage.items():
            node: Node | None = self
            change = sign * value
            while node is not None and change:
                before, unlent = node.used(key), node.unlent(key)
                node.held[key] = before + change
                change = max(0, before + change - unlent) - max(0, before - unlent)
                node = node.parent

    def total(self, key: Key) -> float:
        """Return the quota of the node, and of those below as far as they lend it."""
        if key not in self._total:
            lent = sum(child.total(key) - child.unlent(key) for child in self.children)
            self._total[key] = self.quotas.get(key, _NONE).nominalQuota + lent
        return self._total[key]

    def unlent(self, key: Key) -> float:
        """Return the quota that the node keeps to itself by its lending limit."""
        limit = self.quotas.get(key, _NONE).lendingLimit
        return 0 if limit is None or self.parent is None else max(0, self.total(key) - limit)

    def used(self, key: Key) -> float:
        """Return the use that counts at the node."""
        return self.held.get(key, 0)

    def spare(self, key: Key) -> float:
        """Return the unused part of the quota that the node keeps to itself."""
        return max(0, self.unlent(key) - self.used(key))

    def available(self, key: Key) -> float:
        """Return the amount that may be used in addition, borrowed included."""
        if self.parent is None:
            return self.total(key) - self.used(key)
        unlent, borrowed = self.unlent(key), self.parent.available(key)
        limit = self.quotas.get(key, _NONE).borrowingLimit
        if limit is not None:
            in_parent = max(0, self.used(key) - unlent)
            borrowed = min(borrowed, self.total(key) - unlent - in_parent + limit)
        return self.spare(key) + borrowed

    def potential(self, key: Key) -> float:
        """Return the amount that may be used while nothing else is."""
        if self.parent is None:
            return self.total(key)
        limit = self.quotas.get(key, _NONE).borrowingLimit
        there = self.unlent(key) + self.parent.potential(key)
        return there if limit is None else min(there, self.total(key) + limit)

    def exceeds(self, key: Key, more: float = 0) -> bool:
        """Return whether the use, and some more, is above the quota: the node borrows."""
        return self.used(key) + more > self.total(key)

    def lowest_that_fits(self, key: Key, value: float) -> tuple[int, bool]:
        """Return the height of the lowest node above, or the queue itself, that has quota for more use.

        And whether it has a cohort above, from whose other members quota may be reclaimed.
        """
        if self.parent is None or not self.exceeds(key, value):
            return 0, self.parent is not None
        value -= self.spare(key)
        for node in self.above():
            if not node.exceeds(key, value):
                break
            value -= node.spare(key)
        else:
            return node.height, False
        return node.height, node.parent is not None

    def fits(self, usage: Mapping[Key, float]) -> tuple[bool, dict[Key, float]]:
        """Return whether the node has quota for more use, and the part that counts at its cohort."""
        fits = not any(self.exceeds(key, value) for key, value in usage.items())
        return fits, {key: max(0, value - self.spare(key)) for key, value in usage.items()}


def queue_nodes(queues: Iterable[ClusterQueue], cohorts: Iterable[Cohort]) -> dict[str, Node]:
    """Return the nodes of cluster queues by name, below their cohorts; InputError if these form a circle."""
    known = {one.name: one for one in cohorts}
    nodes: dict[str, Node] = {}

    def cohort(name: str, below: tuple[str, ...] = ()) -> Node | None:
        if name in below:
            circle = " > ".join((*below, name))
            raise InputError("cohorts form a circle", where=f"cohort {name}", found=circle, allowed="a tree")
        if name and name not in nodes:
            one = known.get(name, Cohort(name))
            nodes[name] = Node(one.quotas, cohort(one.parentName, (*below, name)))
        return nodes.get(name)

    return {one.name: Node(one.quotas, cohort(one.parentName)) for one in queues}
