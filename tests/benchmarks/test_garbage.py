"""Python does not search for garbage long at a time while a simulation runs."""

import gc
from dataclasses import replace

from testbed import composed


class Seen:
    """A policy that keeps what garbage collection was set to while it decided."""

    def __init__(self, policy):
        self._policy = policy
        self.thresholds = set()

    def __getattr__(self, name):
        return getattr(self._policy, name)

    def decide(self, view):
        self.thresholds.add(gc.get_threshold())
        return self._policy.decide(view)


def test_a_search_covers_few_objects_and_old_ones_seldom():
    """20,000 new objects at a time, about 10 ms; all of 250 times that; afterwards as it was before."""
    before = gc.get_threshold()
    simulation = composed(["network=zero", "workload=synthetic", "workload.jobs=3"])
    policy = Seen(simulation.policy)
    replace(simulation, policy=policy).run([])
    ((new, young, _),) = policy.thresholds
    assert new <= 20_000
    assert new * young >= 5_000_000
    assert gc.get_threshold() == before
