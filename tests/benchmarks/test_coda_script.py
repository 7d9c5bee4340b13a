"""The benchmark of whole CODA runs runs."""

import benchmark_coda


def test_it_prints_a_row_for_each_policy_and_draws(tmp_path, capsys):
    """Two hundred jobs on 4 machines: FIFO changes no job's CPUs and stops none, CODA tunes."""
    plot = tmp_path / "coda.svg"
    chosen = ["--policies", "coda_fifo", "coda", "--scales", "0.05", "--jobs", "200", "--plot", str(plot)]
    benchmark_coda.main(chosen)
    head, _, *lines = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in capsys.readouterr().out.splitlines()
    )
    fifo, coda = (dict(zip(head, line, strict=True)) for line in lines)
    assert (fifo["policy"], coda["policy"]) == ("coda_fifo", "coda")
    assert (fifo["jobs"], fifo["retunes"], fifo["stops"]) == ("200", "0", "0")
    assert int(coda["retunes"]) > 0
    assert float(coda["longest_ms"]) >= float(coda["p99_ms"]) >= float(coda["median_ms"]) > 0
    assert plot.stat().st_size > 1000
