"""The comparison of whole data-parallel trainings with published throughput."""

from dataclasses import replace
from math import inf
from pathlib import Path

import data_parallel
import numpy as np
import published_training
import pytest
from data_parallel import HELD_OUT, Case, Parts
from published_training import Pair, Training

REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference" / "measured" / "data_parallel.csv"
HEADER = (
    "model,batch_per_gpu,precision,gpu,machines,gpus,network,framework,seq_len,grad_accum,throughput,unit,"
    "derived_step_ms,source,notes"
)
# 8 GPUs x 10 samples x 4 micro-batches at 320 a second: a step takes 1 s
ONE = Training(
    *("ResNet50", 128, 10.0, "FP32", "V100", "TensorFlow", "made up"),
    machines=1,
    gpus=8,
    micro_batches=4.0,
    rate=320.0,
    notes="",
)


def case(machines: int, efficiency: float, *, framework: str = "TensorFlow", few: Training = ONE) -> Case:
    """Return a case in which the network and the update cost nothing."""
    few = replace(few, framework=framework)
    rate = few.rate / few.machines * machines * efficiency
    many = replace(few, machines=machines, gpus=8 * machines, rate=rate)
    return Case(Pair(few, many), few.micro_batches, 0.0, 0.0, 0.0)


def test_rows_are_joined_with_the_row_of_their_own_table(tmp_path: Path) -> None:
    """A table of scaling has its own row of one machine; another run of the same must not stand in for it.

    The row's 18 steps miss the global batch that its source states: 32 x 8 GPUs are 8 x 32. A row divided by
    tensor parallelism is no data-parallel training, and one of an unknown model cannot be asked.
    """
    rows = [
        "BERT-large x,256,TF32,A100 (DGX A100),1,8,-,PyTorch,128,32,4600,seq/s,,s,",
        "BERT-large x,256,TF32,A100 (DGX A100),1,8,-,PyTorch,128,32,4500,seq/s,,s,same global batch",
        "BERT-large x,256,TF32,A100 (DGX A100),4,32,-,PyTorch,128,18,17100,seq/s,,s,same global batch",
        "BERT-large x,256,TF32,A100 (DGX A100),8,64,-,PyTorch,128,4,9000,seq/s,,s,DP8 TP8 PP1",
        "Riddle,256,TF32,A100 (DGX A100),1,8,-,PyTorch,128,32,4500,seq/s,,s,",
        "Riddle,256,TF32,A100 (DGX A100),4,32,-,PyTorch,128,32,4500,seq/s,,s,",
    ]
    table = tmp_path / "data_parallel.csv"
    table.write_text("\n".join([HEADER, *rows]) + "\n")
    (pair,) = published_training.pairs_of(published_training.read_trainings(table))
    assert pair.efficiency == 17_100 / 4 / 4500
    assert pair.many.micro_batches == 8


def test_work_once_per_step_weighs_more_in_a_short_step() -> None:
    """1 s of 4 micro-batches, 0.2 s of them once a step: 0.2 s each. With one micro-batch: 0.2 + 0.2.

    So 1 / efficiency is (0.4 / 1) / (1 / 4) = 1.6. With 0.1 s more exposed on 2 machines, 0.5 x 4 = 2.
    """
    short = replace(case(2, 1.0), micro_batches=1.0, update_s=0.2)
    assert short.loss(np.zeros(2)) == pytest.approx(1.6)
    assert replace(short, exposed_many_s=0.1).loss(np.zeros(2)) == pytest.approx(2.0)


def test_fitted_terms_grow_with_the_doublings_of_the_machines() -> None:
    """Of a step of 1 s on 8 machines, three doublings: 10 ms of waiting are 0.03, 1 % of straggling 0.03.

    From 4 machines on, one more: 0.01 of each, on the rest of the second: (1 - 0.02) + 0.03 = 1.01.
    """
    assert case(8, 1.0).unit_losses == pytest.approx([0.03, 0.03])
    four = replace(ONE, machines=4, gpus=32, rate=4 * 320.0)
    assert case(8, 1.0, few=four).loss(np.array([1.0, 0.0])) == pytest.approx(1.01)
    assert case(8, 1.0, few=four).loss(np.array([0.0, 1.0])) == pytest.approx(1.03 / 1.02)


def test_the_fit_finds_the_waiting_that_made_the_rows() -> None:
    """Steps of 1 s and 0.1 s on 4 machines with 20 ms a doubling: 1.04 and 1.4, which tells them apart.

    A framework that was not seen has the median of those that were: 2 and 0 units, so 1.
    """
    fast = replace(ONE, rate=10 * ONE.rate)
    slow_kind = [case(4, 1 / 1.04), case(4, 1 / 1.4, few=fast)] * 20
    quick_kind = [case(4, 1.0, framework="MXNet"), case(4, 1.0, framework="MXNet", few=fast)] * 20
    result = data_parallel.fit([*slow_kind, *quick_kind])
    assert result.terms["TensorFlow"] == pytest.approx([2.0, 0.0], abs=0.1)
    assert result.terms["MXNet"] == pytest.approx([0.0, 0.0], abs=0.1)
    assert result.efficiency(case(4, inf, framework="Caffe")) == pytest.approx(1 / 1.02, abs=0.002)


def test_a_row_that_went_wrong_pulls_as_far_as_the_noise() -> None:
    """Nine rows lose 4 %, one 80 %: 3 % / 9 more for all of them, where plain least squares say 11.6."""
    cases = [*[case(4, 1 / 1.04)] * 9, case(4, 1 / 1.8)]
    assert 1 / data_parallel.fit(cases).efficiency(cases[0]) == pytest.approx(1.043, abs=0.003)


def test_a_term_that_is_not_allowed_stays_out() -> None:
    """Without waiting, straggling has to explain the rows: the opposite experiment."""
    waiting, straggling = data_parallel.fit([case(4, 1 / 1.04)] * 9, (0, 1)).terms["TensorFlow"]
    assert waiting == 0
    assert straggling == pytest.approx(2.0, abs=0.2)  # 4 % in two doublings


def test_predictions_use_no_row_of_the_case_left_out() -> None:
    """Learning the mean of what it is given: each row is predicted by the others' efficiencies alone."""
    cases = [case(2, 0.9), case(4, 0.8), case(4, 0.7)]

    def mean(seen):
        average = float(np.mean(data_parallel.measured(seen)))
        return lambda _: average

    assert data_parallel.held_out(cases, lambda row: row.machines, mean) == pytest.approx([0.75, 0.9, 0.9])


def test_without_a_network_nothing_is_exposed() -> None:
    """16 GPUs on one 100 Gb/s card a machine: 102 MB of ResNet50 take longer than a short backward pass."""
    pair = case(2, 1.0, few=replace(ONE, rate=20_000.0)).pair  # 16 ms a step, 4 ms a micro-batch
    asked = data_parallel.case_of(pair, Parts())
    assert asked.exposed_many_s > asked.exposed_few_s > 0
    assert data_parallel.case_of(pair, Parts(nics=2)).exposed_many_s < asked.exposed_many_s
    apart = data_parallel.case_of(pair, Parts(network=False, update=False))
    assert (apart.exposed_few_s, apart.exposed_many_s, apart.update_s) == (0, 0, 0)


def test_published_rows_are_met_better_than_by_any_constant() -> None:
    """A model that is no better than a constant is not worth having: predicted, never fitted, in points.

    The goal is 3.5 in the median and 15 at the 90th percentile.
    """
    if not REFERENCE.is_file():
        pytest.skip(f"published training runs are not on this machine ({REFERENCE})")
    pairs = published_training.pairs_of(published_training.read_trainings(REFERENCE))
    cases = [data_parallel.case_of(pair, data_parallel.WHOLE) for pair in pairs]
    for key in HELD_OUT.values():
        median, p90 = data_parallel.errors(data_parallel.held_out(cases, key, data_parallel.model()), cases)
        assert median < 3.5
        assert p90 < 15
        for share, ours in ((0.5, median), (0.9, p90)):
            constants = data_parallel.held_out(cases, key, data_parallel.constant(share))
            assert ours < data_parallel.errors(constants, cases)[share == 0.9]


def test_a_table_without_pairs_is_refused(tmp_path: Path, monkeypatch, capsys) -> None:
    """Two lines and exit code 2, as nothing can be compared."""
    (tmp_path / "data_parallel.csv").write_text("model\n")
    monkeypatch.setattr("sys.argv", ["data_parallel.py", str(tmp_path)])
    assert data_parallel.main() == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"{tmp_path}/data_parallel.csv: no pair of trainings"
    assert "allowed: runs of a model on several machines" in second
