"""Parts of the user's own: what they return is checked, and shipped ones are not wrapped."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from artist.core.buckets import ALL
from artist.core.free import Free
from artist.core.job import Demand
from artist.errors import PlanError
from artist.policies.basic.ordered import Ordered
from artist.policies.parts.fill import FILLS, Fill, fill_of
from artist.policies.parts.orders import FIFO, KeyOrder, order_of
from artist.policies.parts.placement import BestFit, MachineChooser, chooser_of
from artist.policies.parts.placer import placer_of
from artist.policies.synergy.needs import Mechanism
from artist.policies.synergy.policy import Synergy
from artist.testing.tiny import job, on, run_checked, tiny_cluster

NOTHING = [0, 0, 0]


class Mine:
    """An order or a chooser that returns a test's values."""

    knows_stages = True

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def key(self, jobs):
        return self.answer

    def choose(self, free, demand, among=ALL):
        return self.answer


def free(*gpus):
    """Return three machines of 4 GPUs with some of them free."""
    return Free(tiny_cluster(3, 4), gpus, NOTHING, NOTHING)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (np.zeros(1), r"shape \(1,\)"),
        (3, r"shape \(\)"),
        (np.zeros((2, 2)), r"shape \(2, 2\)"),
        ([[1], [2, 3]], r"\[\[1\], \[2, 3\]\]"),
        (["a", "b"], "<U1 instead of numbers"),
        ([1.0, np.nan], "NaN"),
    ],
)
def test_keys_of_another_shape_or_no_numbers_are_refused(answer, told):
    """Two jobs need two numbers; anything else would rank them in silence."""
    with pytest.raises(PlanError, match=rf"^order \S+\.Mine: key returned {told} for 2 jobs$"):
        order_of(SimpleNamespace(), Mine(answer)).key([0, 1])


@pytest.mark.parametrize("answer", [[2, 1], (0.5, np.inf), np.array([True, False])])
def test_good_keys_pass(answer):
    """Whole numbers, an infinite one (last) and booleans rank jobs, in a list as in an array."""
    assert order_of(SimpleNamespace(), Mine(answer)).key([0, 1]).tolist() == list(answer)


def test_keys_are_checked_in_a_run():
    """One key for two waiting jobs: the run ends instead of ranking one of them."""
    policy = Ordered(order=Mine([1.0]), preemptive=True)
    with pytest.raises(PlanError, match=r"shape \(1,\) for 2 jobs"):
        run_checked([job("a"), job("b")], tiny_cluster(), policy)


def test_an_order_declares_through_the_check():
    """`knows_stages` of the order reaches the policy; `knows_durations` was never said."""
    policy = Ordered(order=Mine([1.0]))
    assert policy.knows_stages
    assert not hasattr(policy, "knows_durations")


def test_shipped_parts_are_as_they_were():
    """No check costs a run of shipped parts anything."""
    assert order_of(SimpleNamespace(), "fifo") is FIFO
    assert fill_of("as_asked") is FILLS["as_asked"]
    assert type(chooser_of("best_fit")) is BestFit


def test_a_shipped_kind_of_order_of_ones_own_is_checked():
    """A `KeyOrder` of the user's own may be as wrong as any class."""
    with pytest.raises(PlanError, match="KeyOrder"):
        order_of(SimpleNamespace(), KeyOrder(lambda jobs: np.zeros(1))).key([0, 1])


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({0: 3}, "machine number 0 has 2 free GPUs for this job"),
        ({2: 1}, "machine number 2 is not in `among`"),
        ({3: 2}, "3 is not a machine number: must be 0 to 2"),
        ({-1: 2}, "-1 is not a machine number: must be 0 to 2"),
        ({"m0": 2}, "'m0' is not a machine number: must be 0 to 2"),
        ({0: 2, 1: 0}, "machine number 1 must give at least one GPU"),
        ({0: 1.0}, "machine number 0 must give at least one GPU"),
        ({}, "must be GPUs by machine number, or None to wait"),
        ([0, 1], "must be GPUs by machine number, or None to wait"),
    ],
)
def test_a_wrong_choice_is_refused(answer, told):
    """Machines 0 and 1 may serve; they have 2 and 4 free GPUs, and 2 has 4 as well."""
    with pytest.raises(PlanError) as caught:
        placer_of(Mine(answer), "proportional").place(free(2, 4, 4), Demand(2), 0b011)
    message = str(caught.value)
    assert message == f"placement chooser {__name__}.Mine: choose returned {answer!r}; {told}"


def test_a_good_choice_passes():
    """All free GPUs of two machines, one of them numbered by numpy; or None to wait."""
    choose = chooser_of(Mine({np.int64(0): np.int64(2), 1: 4})).choose
    assert choose(free(2, 4, 4), Demand(6)) == {0: 2, 1: 4}
    assert chooser_of(Mine(None)).choose(free(2, 4, 4), Demand(6)) is None


def test_a_chooser_that_defines_machines_has_the_rest():
    """The last machine that fits: 1 of 0 to 2. At most one machine of 4: 5 GPUs wait."""

    class Last(MachineChooser):
        def machines(self, free, usable, need):
            fits = [m for m in range(3) if usable >> m & 1 and free.gpus[m] >= need]
            return {fits[-1]: need} if fits else free.buckets.fewest(need, usable)

    choose = chooser_of(Last()).choose
    assert choose(free(2, 3, 1), Demand(2)) == {1: 2}
    assert choose(free(2, 3, 1), Demand(5)) == {0: 2, 1: 3}
    assert choose(free(2, 3, 1), Demand(5, max_machines=1)) is None


class Seen(Fill):
    """Keeps the machines in the order in which it is given them."""

    def __init__(self) -> None:
        self.machines: list[list[int]] = []

    def fill(self, free, demand, gpus):
        self.machines.append(list(gpus))
        return on(*gpus.items())

    def room(self, free, demand):
        return Free(free.cluster, [1, 4, 4], NOTHING, NOTHING)


def test_a_fill_gets_the_machines_in_order():
    """The chooser took 1 before 0: the fill sees 0 before 1, for one job and for jobs that share."""
    seen = Seen()
    placer = placer_of(Mine({1: 4, 0: 1}), seen)
    assert placer.place(free(4, 4, 4), Demand(5)) == on((0, 1), (1, 4))
    placer.fill.shares(free(4, 4, 4), [Demand(5)] * 2, {1: 4, 0: 1})
    assert seen.machines == [[0, 1]] * 3


def test_room_of_a_users_fill_limits_placements():
    """One GPU of machine 0 is left by `room`: a choice of two is refused."""
    with pytest.raises(PlanError, match="machine number 0 has 1 free GPUs"):
        placer_of(Mine({0: 2}), Seen()).place(free(4, 4, 4), Demand(2))


class _FirstMachine(Mechanism):
    """Gives the first job one GPU of machine 0, and the others nothing."""

    def pack(self, needs, free, view):
        return {needs[0].job: on((0, 1))}


def test_a_mechanism_of_ones_own_places_jobs():
    """Two jobs on 2 machines of 2 GPUs: the second runs after the first, both on machine 0, 10 s each."""
    policy = Synergy(mechanism=_FirstMachine(), on_events=True, interval_s=None)
    result, _ = run_checked([job("a"), job("b")], tiny_cluster(), policy)
    assert result.columns["finish_ns"].tolist() == [10 * 10**9, 20 * 10**9]


@pytest.mark.parametrize("mechanism", ["tuned", Mine(None)])
def test_an_unknown_mechanism_is_refused(mechanism):
    """By a name that is not shipped, or an object that does not inherit `Mechanism`."""
    with pytest.raises(ValidationError, match="no such part"):
        Synergy(mechanism=mechanism)
