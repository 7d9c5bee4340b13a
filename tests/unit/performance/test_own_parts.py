"""Effects and couplings of the user's own that answer wrongly: words that name the part, not a traceback."""

import pytest

from artist.core.iteration import IterationParts
from artist.errors import InputError
from artist.performance.effects.api import ByResources
from artist.performance.own_parts import checked_coupling, checked_effect
from artist.performance.placed import PlacedPerformance
from artist.testing.tiny import Scripted, job, on, run_checked, seconds, tiny_cluster
from netmodels.models.zero import ZeroModel


class Adds:
    part = "input_stall_ns"

    def __init__(self, answer):
        self.answer = answer

    def ns(self, spec, allocation, cluster, compute_ns):
        return self.answer


class Couples:
    def __init__(self, touched=lambda changed: [job for job, _, _ in changed], coupled=lambda prices: {}):
        self._touched, self._coupled = touched, coupled

    def touched(self, changed, running):
        return self._touched(changed)

    def coupled(self, prices, running, alone):
        return self._coupled(prices)


def run(**parts):
    """Run two jobs of 2 and 4 s on a GPU each."""
    performance = PlacedPerformance(ZeroModel(), None, None, None, **parts)
    script = Scripted({0: lambda v, p: [p.place(j, on((0, 1))) for j in (0, 1)]})
    return run_checked([job("a", 1, 2), job("b", 1, 4)], tiny_cluster(), script, performance)


@pytest.mark.parametrize("answer", [0.5, None, -5, "1"])
def test_an_effect_that_adds_no_whole_number_is_named(answer):
    """Half a nanosecond, nothing, less than nothing or a text: the place and the class are told."""
    with pytest.raises(InputError) as error:
        run(effects=[checked_effect(Adds(answer), "performance.effects[0]")])
    assert error.value.where == "performance.effects[0] (Adds.ns)"
    assert error.value.allowed == "a whole number of ns, 0 or more"


def test_a_checked_effect_answers_on_a_grid_if_the_users_does():
    """Else it would count as one that no CPUs and no memory change, for whatever policies believe."""
    effect = Adds(1)
    assert not isinstance(checked_effect(effect, "performance.effects[0]"), ByResources)
    effect.on_grid = lambda *question: 7
    grid = checked_effect(effect, "performance.effects[0]")
    assert isinstance(grid, ByResources)
    assert grid.on_grid() == 7


def changed_by(added):
    """Return a coupling's answer that adds something to each of its jobs."""
    return lambda prices: {j: parts._replace(contention_ns=added) for j, parts in prices.items()}


@pytest.mark.parametrize(
    ("wrong", "method"),
    [
        ({"touched": lambda changed: None}, "touched"),
        ({"touched": lambda changed: [9999]}, "touched"),
        ({"coupled": lambda prices: None}, "coupled"),
        ({"coupled": lambda prices: {9999: IterationParts(1)}}, "coupled"),
        ({"coupled": lambda prices: dict.fromkeys(prices, 5)}, "coupled"),
        (
            {"coupled": lambda prices: {j: p._replace(contention_ns=0.5) for j, p in prices.items()}},
            "coupled",
        ),
        ({"coupled": changed_by(-1)}, "coupled"),
    ],
)
def test_a_coupling_that_answers_wrongly_is_named(wrong, method):
    """Nothing, a job that is not there, or no parts in whole numbers."""
    with pytest.raises(InputError) as error:
        run(couplings=[checked_coupling(Couples(**wrong), "performance.couplings[0]")])
    assert error.value.where == f"performance.couplings[0] (Couples.{method})"


def test_a_coupling_may_name_jobs_that_have_just_stopped():
    """All that changed is the natural answer of `touched`; jobs that ended are left out; both end on time."""
    result, _ = run(couplings=[checked_coupling(Couples(), "performance.couplings[0]")])
    assert seconds(result, "finish_ns") == [2, 4]
