"""`network=measured`: interpolated where a run is like the placement, of the fit elsewhere, and told."""

import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from artist.data import data_path
from netmodels.api import load_topology
from netmodels.fabric.shape import Shape
from netmodels.fabric.system import merge_system
from netmodels.inputs.errors import InputError
from netmodels.models.cache import CachedModel, question_record
from netmodels.models.measured import MeasuredModel
from netmodels.nccl.model import collective_us
from netmodels.profiles.layers import Layer, Profile

FABRIC = load_topology(data_path("topologies", "dgx_h100_3tier.yaml")).fabric
SYSTEM = merge_system(FABRIC.system, {"collectives": "nccl", "bucket_cap_mb": 0})
POINTS = ((1 << 20, 100.0), (1 << 22, 400.0))


def shape(*racks: tuple[int, ...]) -> Shape:
    """Return machines of 8 GPUs by rack."""
    return tuple(tuple(("dgx_h100", count) for count in rack) for rack in racks)


@pytest.fixture
def model(printed_log: Callable[..., str], tmp_path: Path) -> MeasuredModel:
    """All-reduces on 2 x 8 GPUs: 100 us at 1 MiB, 400 us at 4 MiB."""
    (tmp_path / "all_reduce.log").write_text(printed_log(POINTS))
    return MeasuredModel([str(tmp_path)])


def all_reduce_ns(model: MeasuredModel, size: int, place: Shape) -> int:
    """Return the time of an all-reduce alone."""
    return model.collective_ns("all_reduce", size, place, FABRIC, SYSTEM)


def test_between_measured_sizes_it_interpolates_in_logarithms(model):
    """Half way from 1 to 4 MiB by logarithm is 2 MiB, and from 100 to 400 us 200 us."""
    times = [all_reduce_ns(model, size << 20, shape((8, 8))) for size in (1, 2, 4)]
    assert times == [100_000, 200_000, 400_000]


def test_beyond_measured_sizes_it_follows_the_fit(model):
    """At 16 MiB: 400 us x fit(16 MiB) / fit(4 MiB), so that nothing jumps at the edge."""
    nccl = model.fitted(FABRIC).nccl
    edge, far = collective_us("all_reduce", np.array([2.0**22, 2.0**24]), ((8, 8),), nccl)
    assert all_reduce_ns(model, 1 << 24, shape((8, 8))) == pytest.approx(4e5 * far / edge, abs=1)


@pytest.mark.parametrize("racks", [((8,),), ((4, 4),), ((8, 7),), ((8, 8, 8),), ((8, 8), (8, 8))])
def test_placements_that_were_not_measured_have_the_answer_of_the_fit(model, racks, caplog):
    """One machine, parts of machines, uneven ones, more of them, two racks: carried, with one note."""
    nccl = model.fitted(FABRIC).nccl
    expected = collective_us("all_reduce", np.array([2.0**20]), racks, nccl)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert all_reduce_ns(model, 1 << 20, shape(*racks)) == pytest.approx(1e3 * expected[0], abs=1)
    assert model.carries(shape(*racks), FABRIC)
    (note,) = caplog.records
    assert "that were not measured are answered by the fit (median error" in note.getMessage()


def test_a_measured_placement_is_not_carried(model, caplog):
    """Nor is one GPU, which communicates with none; a run says nothing of them."""
    assert not model.carries(shape((8, 8)), FABRIC)
    assert not model.carries(shape((1,)), FABRIC)
    all_reduce_ns(model, 1 << 20, shape((8, 8)))
    assert not caplog.records


def test_a_run_counts_answers_of_the_fit_as_carried(model):
    """2 x 8 GPUs were measured, 8 + 7 were not: 1 of 2 questions, as AstraSim's are counted."""
    cached = CachedModel(model)
    for racks in ((8, 8), (8, 7)):
        cached.iteration(Profile("toy", (Layer("a", 50, 0, 50, 1 << 20),)), shape(racks), FABRIC, SYSTEM)
    assert cached.carried == 1


def test_machines_of_several_types_have_the_answer_of_the_fit(model):
    """A run is on equal machines."""
    assert model.carries(((("dgx_h100", 8), ("other", 8)),), FABRIC)


def test_an_iteration_runs_the_measured_all_reduces(model):
    """Backward ends at 30 us; last layer's 1 MiB goes out at 10 + 10, takes 100, then the first's 4 MiB 400.

    Issues: layer 1 at 10 (forward) + 5, layer 0 at 10 + 5 + 5 + 5 = 25; 15 + 100 + 400 = 515 us.
    """
    layers = (Layer("a", 5_000, 0, 5_000, 1 << 22), Layer("b", 5_000, 5_000, 5_000, 1 << 20))
    answer = model.iteration(Profile("two", layers), shape((8, 8)), FABRIC, SYSTEM)
    assert answer.compute_ns == 25_000
    assert answer.total_ns == 515_000
    assert answer.comm_ns == 500_000
    assert answer.tiers == (("rack", 500_000),)
    assert model.iteration(Profile("two", layers), shape((1,)), FABRIC, SYSTEM).comm_ns == 0


def test_several_equal_runs_count_by_their_median(printed_log, tmp_path):
    """100, 100 and 160 us at 1 MiB: 100, so that one slow run does no harm."""
    for name, time_us in (("a", 100.0), ("b", 160.0), ("c", 100.0)):
        (tmp_path / f"all_reduce_{name}.log").write_text(printed_log(((1 << 20, time_us),)))
    model = MeasuredModel([str(tmp_path / "*.log")])
    assert all_reduce_ns(model, 1 << 20, shape((8, 8))) == 100_000


def test_a_table_is_as_good_as_a_log(tmp_path):
    """All-gathers count the total: 1 MiB a GPU on 4 GPUs is the row of 4 MiB."""
    table = tmp_path / "runs.csv"
    head = "run,collective,machines,gpus_per_machine,bytes,time_us"
    table.write_text(f"{head}\na,allreduce,1,4,1048576,50\nb,all_gather,1,4,4194304,70\n")
    model = MeasuredModel([str(table)])
    assert model.collective_ns("all_gather", 1 << 20, shape((4,)), FABRIC, SYSTEM) == 70_000
    assert all_reduce_ns(model, 1 << 20, shape((4,))) == 50_000


def test_measurements_are_part_of_the_cache_key(model, printed_log, tmp_path):
    """The same file with another time is another model; moved elsewhere, it is the same."""
    changed = tmp_path / "changed" / "all_reduce.log"
    changed.parent.mkdir()
    question = (Profile("one", (Layer("a", 1, 1, 1, 8),)), shape((8, 8)), FABRIC, SYSTEM)
    keys = []
    for points in (POINTS, ((1 << 20, 100.0), (1 << 22, 401.0))):
        changed.write_text(printed_log(points))
        keys.append(question_record(MeasuredModel([str(changed)]), *question))
    assert question_record(model, *question) == keys[0] != keys[1]


def test_carried_answers_are_counted(model):
    """As those of other models are, for summary.json."""
    cached = CachedModel(model)
    profile = Profile("one", (Layer("a", 1, 1, 1, 1 << 20),))
    for place in (shape((8, 8)), shape((8, 7)), shape((8, 7)), shape((8, 6))):
        cached.iteration(profile, place, FABRIC, SYSTEM)
    assert cached.carried == 2


def test_runs_without_an_all_reduce_are_refused(printed_log, tmp_path):
    """Iterations are all-reduces; no runs at all, a pattern that fits nothing."""
    (tmp_path / "all_gather.log").write_text(printed_log(POINTS, collective="all_gather"))
    with pytest.raises(InputError, match="no run of an all-reduce"):
        MeasuredModel([str(tmp_path)])
    with pytest.raises(InputError, match="no runs"):
        MeasuredModel([])
    with pytest.raises(InputError, match="no such file"):
        MeasuredModel([str(tmp_path / "*.csv")])


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("allreduced,2,8,1024,20", "unknown collective"),
        ("all_reduce,two,8,1024,20", "not a whole number"),
        ("all_reduce,2,8.5,1024,20", "not a whole number"),
        ("all_reduce,2,8,0,20", "not a whole number"),
        ("all_reduce,2,8,1024,nan", "no time of a collective"),
        ("all_reduce,2,8,1024,-1", "no time of a collective"),
        ("all_reduce,2,8,1073741824,5", "too short for its bytes"),  # ms
        ("all_reduce,2,8,512,20", "the same size as in line 2"),
    ],
)
def test_a_bad_row_of_a_table_is_refused_with_its_line(tmp_path, row, what):
    """File, line and column, the value found and the allowed values."""
    table = tmp_path / "runs.csv"
    table.write_text(f"collective,machines,gpus_per_machine,bytes,time_us\nall_reduce,2,8,512,20\n{row}\n")
    with pytest.raises(InputError, match=what) as caught:
        MeasuredModel([str(table)])
    assert "runs.csv, line 3" in str(caught.value)
    table.write_text("collective,machines,gpus,bytes,time_us\n")
    with pytest.raises(InputError, match="column gpus_per_machine is missing"):
        MeasuredModel([str(table)])


def test_two_clusters_are_refused(printed_log, tmp_path):
    """A blend of A100 and H100 is no cluster."""
    for gpu in ("A100", "H100"):
        (tmp_path / f"all_reduce_{gpu}.log").write_text(printed_log(POINTS, gpu=gpu))
    with pytest.raises(InputError, match="runs on different GPUs"):
        MeasuredModel([str(tmp_path)])


def test_a_damaged_log_in_a_folder_is_refused(model, tmp_path):
    """Half a gzipped log may be the run that matters."""
    (tmp_path / "more.log.gz").write_bytes(b"\x1f\x8b\x08broken")
    with pytest.raises(InputError, match="broken gzip file"):
        MeasuredModel([str(tmp_path)])


@pytest.mark.parametrize(
    ("row", "what"),
    [("all_reduce,1,1,512,20", "one GPU alone"), ("all_reduce,2,8,512,20,99", "cells without a column")],
)
def test_a_row_of_one_gpu_or_of_more_cells_is_refused(tmp_path, row, what):
    """As in a log; a cell too many has moved the others."""
    table = tmp_path / "runs.csv"
    table.write_text(f"collective,machines,gpus_per_machine,bytes,time_us\n{row}\n")
    with pytest.raises(InputError, match=what):
        MeasuredModel([str(table)])
