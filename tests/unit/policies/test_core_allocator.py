"""CPU allocators: where a job starts, and the search from there."""

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from artist.errors import PlanError
from artist.policies.coda.core_allocator import (
    TRAITS,
    AnyAllocator,
    CoreAllocator,
    CpuSearch,
    GpuJob,
    Requested,
    TunedCores,
    allocator_of,
)
from netmodels.profiles.profile import profile_names

# CPUs a GPU needed, GPU utilization then, optimum, and steps from the first start (Table II).
MODELS = {
    "AlexNet": (3.9, 0.8, 4, 4),
    "VGG16": (3.2, 0.95, 4, 4),
    "InceptionV3": (2.2, 0.9, 3, 3),
    "ResNet50": (2.7, 0.9, 3, 3),
    "BAT": (5.6, 0.7, 6, 4),
    "Transformer": (1.8, 0.8, 2, 3),
    "WaveNet": (4.7, 0.75, 5, 3),
    "DeepSpeech": (3.8, 0.75, 4, 3),
}


def asks(model="VGG16", user="ann", gpus=1, cpus=2):
    """Return an allocator's knowledge of a job."""
    return GpuJob(0, user, model, gpus, cpus)


def utilization(model, cpus):
    """Return a GPU's utilisation: in proportion to CPUs up to the need, then 0.01 less each, at most 0.05."""
    need, full, _, _ = MODELS[model]
    return full * min(cpus / need, 1 - min(0.05, 0.01 * max(0, cpus - need)))


def walked(search, busy, may_grow=lambda cpus: True):
    """Return the CPU counts that a search tries, from the start on, and its final one."""
    tried = [search.cpus]
    while (following := search.next(busy(search.cpus), may_grow)) is not None:
        assert following == search.cpus
        tried.append(following)
    assert search.steps == len(tried)
    return tried, search.cpus


@pytest.mark.parametrize(("model", "steps"), [(model, known[3]) for model, known in MODELS.items()])
def test_steps_from_the_first_start_are_those_of_table_2(model, steps):
    """Start 3 for images, 5 for text and speech, 5 - 1 - 1 = 3 for Transformer; the least of all that keep
    up is the optimum: DeepSpeech tries 5, 4 and 3.
    """
    allocator, (_, _, optimum, _) = TunedCores(), MODELS[model]
    search = allocator.search(asks(model), allocator.start(asks(model)), 1)
    tried, end = walked(search, lambda cpus: utilization(model, cpus))
    assert (len(tried), end) == (steps, optimum)


def test_every_model_starts_somewhere():
    """Nothing is known of A2C and DQN: 4, the mean of 3, 5 and 5 rounded."""
    starts = {name: TunedCores().start(asks(name)) for name in profile_names()}
    assert set(TRAITS) == set(profile_names()) - {"A2C", "DQN"}
    assert starts["A2C"] == starts["DQN"] == 4
    assert {name: starts[name] for name in MODELS} == {
        **{"AlexNet": 3, "VGG16": 3, "InceptionV3": 3, "ResNet50": 3},
        **{"BAT": 5, "Transformer": 3, "WaveNet": 5, "DeepSpeech": 5},
    }


@pytest.mark.parametrize("off", [-2, -1, 0, 1, 2, 4])
@pytest.mark.parametrize("model", MODELS)
def test_a_wrong_start_is_mended_in_either_direction(model, off):
    """Of k too many the start, k fewer and one too few are measured; of k too few the start, one fewer
    (unless the start is 1), k more, and one too many.
    """
    optimum = MODELS[model][2]
    start = max(1, optimum + off)
    fewer = range(start, optimum - 2, -1)
    more = [start, *[start - 1] * (start > 1), *range(start + 1, optimum + 2)]
    tried, end = walked(CpuSearch(start), lambda cpus: utilization(model, cpus))
    assert (tried, end) == (list(fewer) if off > 0 else more, optimum)


def test_differences_within_the_tolerance_count_as_equal():
    """0.5 at 3 CPUs and 0.502 at 2 is noise; at 4, 0.503 is better and 0.504 at 5 again is not."""
    assert walked(CpuSearch(3), {2: 0.502, 3: 0.5, 4: 0.503, 5: 0.504}.get) == ([3, 2, 4, 5], 4)
    assert walked(CpuSearch(3, tolerance=0.001), {1: 0.5, 2: 0.502, 3: 0.5}.get) == ([3, 2, 1], 2)


def test_without_a_free_cpu_a_search_does_not_grow():
    """VGG16 is faster with 4 than with 3; none is free, so it ends at 3 after two steps."""
    asked = []

    def free(cpus):
        asked.append(cpus)
        return cpus < 4

    tried, end = walked(CpuSearch(3), lambda cpus: utilization("VGG16", cpus), free)
    assert (tried, end, asked) == ([3, 2], 3, [4, 3])


def test_cpus_that_were_given_up_may_be_gone():
    """While 2 were tried another job took the third: the job has to keep 2, though 3 are better."""
    search = CpuSearch(3)
    assert walked(search, lambda cpus: cpus / 5, lambda cpus: False) == ([3, 2], 2)
    assert search.best == 3


def test_a_search_grows_up_to_the_free_cpus():
    """5 CPUs are best; 4 are to be had: 3, 2 and 4 are measured."""
    assert walked(CpuSearch(3), lambda cpus: cpus / 5, lambda cpus: cpus <= 4) == ([3, 2, 4], 4)


def test_at_one_cpu_more_is_tried_at_once():
    """Nothing is below 1: 1, 2 and 3 are measured, and 2 is best. Down from 2, 1 ends the search."""
    assert walked(CpuSearch(1), {1: 0.4, 2: 0.8, 3: 0.7}.get) == ([1, 2, 3], 2)
    assert walked(CpuSearch(2), {1: 0.8, 2: 0.7}.get) == ([2, 1], 1)


def test_idle_gpus_are_a_measurement():
    """A job that does nothing at its start (0) goes on to more, which does something."""
    assert walked(CpuSearch(2), {1: 0.0, 2: 0.0, 3: 0.5, 4: 0.4}.get) == ([2, 1, 3, 4], 3)


CURVES = st.integers(1, 12).flatmap(
    lambda peak: st.tuples(
        st.just(peak), st.lists(st.floats(0.003, 0.05), min_size=20, max_size=20), st.integers(1, 16)
    )
)


@given(CURVES)
def test_a_search_on_any_unimodal_curve_ends_at_its_optimum(curve):
    """Steps of more than the tolerance up to the peak, and down after it: from any start it ends there."""
    peak, slopes, start = curve
    busy = [0.0]
    for cpus, slope in enumerate(slopes, 1):
        busy.append(busy[-1] + (slope if cpus <= peak else -slope))
    tried, end = walked(CpuSearch(start), lambda cpus: 0.5 + busy[cpus])
    assert end == peak
    assert len(tried) <= abs(start - peak) + 3


@given(st.lists(st.floats(0, 1), min_size=8, max_size=8), st.integers(1, 8), st.integers(1, 8))
def test_a_search_never_ends_at_worse_than_its_start(busy, start, most):
    """On any curve, with any number of CPUs to be had: the end is the best of all measured, within 0.002."""
    start = min(start, most)
    tried, end = walked(CpuSearch(start), lambda cpus: busy[cpus - 1], lambda cpus: cpus <= most)
    assert busy[end - 1] >= busy[start - 1]
    assert busy[end - 1] >= max(busy[cpus - 1] for cpus in tried) - 0.002


def test_a_search_steps_by_cpus_per_gpu():
    """3 CPUs a GPU are 12 of 4 GPUs; a search counts by GPU, so that its next step is 8."""
    allocator = TunedCores()
    search = allocator.search(asks(gpus=4), 3, 1)
    assert allocator.on_machines(search.cpus, [4]) == [12]
    search.next(0.5, lambda cpus: True)
    assert allocator.on_machines(search.cpus, [4]) == [8]


def test_on_several_machines_a_job_has_two_cpus_on_each():
    """BAT starts with 5 a GPU; on 3 + 1 GPUs that are 2 on each machine, and only 2 and 1 are tried."""
    allocator = TunedCores()
    assert allocator.on_machines(5, [3, 1]) == [2, 2]
    assert allocator.on_machines(1, [3, 1]) == [1, 1]
    search = allocator.search(asks("BAT", gpus=4), 5, 2)
    assert walked(search, lambda cpus: cpus / 6) == ([2, 1], 2)
    assert walked(allocator.search(asks(gpus=4), 1, 2), lambda cpus: cpus / 6) == ([1, 2], 2)
    assert TunedCores(max_across=1).on_machines(5, [3, 1]) == [1, 1]


def test_the_start_is_the_most_that_a_job_of_the_owner_and_category_held():
    """VGG16 had 4, AlexNet 6 and ResNet50 2: Inception starts with 6. BAT, of another category, starts with
    5, and Inception of another owner with 3.
    """
    allocator = TunedCores()
    for model, cpus in (("VGG16", 4), ("AlexNet", 6), ("ResNet50", 2)):
        allocator.finished(asks(model), cpus, 1)
    assert allocator.start(asks("InceptionV3")) == 6
    assert allocator.start(asks("BAT")) == 5
    assert allocator.start(asks("InceptionV3", user="bob")) == 3


def test_history_is_kept_per_owner():
    """Transformer starts with 5 - 1 - 1 = 3; once a job of its owner had 2 it starts with 2, not with 0."""
    allocator = TunedCores()
    assert allocator.start(asks("Transformer")) == 3
    allocator.finished(asks("Transformer"), 2, 1)
    assert allocator.start(asks("Transformer")) == 2


def test_complex_input_starts_with_one_more():
    """5 + 1 of a text model that prepares much, and 5 of one with both a pipeline and that."""
    told = {"a": TRAITS["BAT"]._replace(complex_input=True)}
    told["b"] = told["a"]._replace(pipelined=True)
    allocator = TunedCores(traits=told)
    assert [allocator.start(asks(model)) for model in "ab"] == [6, 5]


def test_no_start_is_below_one():
    """A category that starts with 1 and is told to have a pipeline and many weights: 1, not -1."""
    allocator = TunedCores(starts={"nlp": 1}, traits={"a": TRAITS["Transformer"]})
    assert allocator.start(asks("a")) == 1
    assert allocator.search(asks("a"), 0.4, 1).cpus == 1


def test_without_a_category_the_owner_counts():
    """DQN has none: 4 of an owner with no history; after BAT with 6 and VGG16 with 3 it is 6."""
    allocator = TunedCores()
    assert allocator.start(asks("DQN")) == 4
    allocator.finished(asks("BAT"), 6, 1)
    allocator.finished(asks("VGG16"), 3, 1)
    assert allocator.start(asks("DQN")) == 6
    allocator.finished(asks("DQN"), 7, 1)
    assert (allocator.start(asks("DQN")), allocator.start(asks("BAT"))) == (7, 6)


def test_jobs_on_several_machines_are_no_history():
    """2 CPUs on each of two machines with 4 GPUs say nothing of CPUs a GPU: BAT starts with 5 again."""
    allocator = TunedCores()
    allocator.finished(asks("BAT", gpus=8), 2, 2)
    assert allocator.start(asks("BAT")) == 5


def test_requested_gives_the_demand():
    """10 CPUs of 4 GPUs: 2.5 a GPU, on 2 + 1 + 1 GPUs 5, 2 and 3; it never searches."""
    allocator, job = Requested(), asks(gpus=4, cpus=10)
    assert allocator.start(job) == 2.5
    assert allocator.on_machines(2.5, [4]) == [10]
    assert allocator.on_machines(2.5, [2, 1, 1]) == [5, 2, 3]
    assert allocator.search(job, 2.5, 1) is None
    allocator.finished(job, 9, 1)
    assert allocator.start(job) == 2.5
    assert allocator.start(asks(cpus=0)) == 4


class Mine(CoreAllocator):
    """An allocator that returns what a test says."""

    def __init__(self, answer):
        self.answer = answer

    def start(self, job):
        return self.answer

    def on_machines(self, cpus, gpus):
        return self.answer


def test_each_run_has_an_allocator_of_its_own():
    """History of one run must not reach another in the same process; one of the user's own stays hers."""
    assert allocator_of("tuned") is not allocator_of("tuned")
    assert type(allocator_of("requested")) is Requested
    allocator = allocator_of(TunedCores(tolerance=0.1))
    allocator.finished(asks(), 7, 1)
    assert allocator.start(asks()) == 7
    assert walked(allocator.search(asks(), 3, 1), {2: 0.55, 3: 0.5, 4: 0.6}.get) == ([3, 2, 4], 3)


@pytest.mark.parametrize("answer", [-1, nan, inf, "4", None, True + 0j])
def test_a_start_that_is_no_number_is_refused(answer):
    """It would place nothing, or fail far from its cause."""
    with pytest.raises(PlanError, match=r"^allocator \S+\.Mine: start returned .*; must be a number"):
        allocator_of(Mine(answer)).start(asks())


@pytest.mark.parametrize("answer", [[1], [1, 2, 3], [1, -1], [1, 1.5], 4, None])
def test_cpus_that_are_not_one_number_for_each_machine_are_refused(answer):
    """Two machines need two whole numbers."""
    with pytest.raises(PlanError, match=r"on_machines returned .*; must be a list of CPUs on each of 2"):
        allocator_of(Mine(answer)).on_machines(1, [1, 1])
    assert allocator_of(Mine([2, 0])).on_machines(1, [1, 1]) == [2, 0]


class Walking(Mine):
    """Answers with a search that a test says."""

    def search(self, job, cpus, machines):
        return self.answer


@pytest.mark.parametrize("answer", [5, [1, 2], CpuSearch])
def test_a_search_without_a_step_is_refused(answer):
    """It would fail at its first step, in code that its author does not know; None and a CpuSearch pass."""
    with pytest.raises(
        PlanError, match=r"^allocator \S+\.Walking: search returned .*; must be a CpuSearch or None"
    ):
        allocator_of(Walking(answer)).search(asks(), 1, 1)
    search = CpuSearch(1)
    assert [allocator_of(Walking(given)).search(asks(), 1, 1) for given in (None, search)] == [None, search]


def test_a_field_takes_a_name_or_an_allocator():
    """An unknown name lists those that ship; an object without the base class is refused."""
    field = TypeAdapter(AnyAllocator)
    assert field.validate_python("tuned") == "tuned"
    assert isinstance(field.validate_python(Mine(1)), Mine)
    for wrong in ("tune", object()):
        with pytest.raises(ValidationError, match="no such part"):
            field.validate_python(wrong)
