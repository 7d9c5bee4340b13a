"""The benchmark of whole Lyra runs runs."""

import benchmark_lyra


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
