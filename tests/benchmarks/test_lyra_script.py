"""The benchmark of whole Lyra runs runs."""

from itertools import count
from weakref import ref

import benchmark_lyra
import numpy as np


def test_it_prints_a_row_for_each_policy_and_draws(tmp_path, capsys):
    """A hundred jobs on 7 and 8 machines: FIFO solves no knapsack and changes no job's size, Lyra does."""
    plot = tmp_path / "lyra.svg"
    benchmark_lyra.main(["--scales", "0.015625", "--jobs", "100", "--plot", str(plot)])
    head, _, *lines = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in capsys.readouterr().out.splitlines()
    )
    fifo, lyra = (dict(zip(head, line, strict=True)) for line in lines)
    assert (fifo["policy"], lyra["policy"]) == ("lyra_fifo", "lyra")
    assert (fifo["knapsacks"], fifo["resizes"]) == ("0", "0")
    assert int(lyra["knapsacks"]) > 0
    assert int(lyra["resizes"]) > 0
    assert float(lyra["longest_ms"]) >= float(lyra["p99_ms"]) >= float(lyra["median_ms"]) > 0
    assert float(lyra["peak_mib"]) > 50
    assert plot.stat().st_size > 1000


def test_counting_knapsacks_keeps_nothing_of_them():
    """One call counts as one, and its weights are gone: at full size those of all calls took 750 MiB."""
    solved, weights = count(), np.array([1, 2])
    of_call = ref(weights)
    solve = benchmark_lyra.counting(solved)
    assert solve(1, [(weights, np.array([3.0, 5.0]))]) == [0]
    del weights
    assert of_call() is None
    assert next(solved) == 1
