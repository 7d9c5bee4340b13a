"""The benchmark of Synergy's decisions runs."""

import benchmark_synergy


def test_it_prints_a_line_per_mechanism_and_size_and_draws(tmp_path, capsys):
    """Two servers under tune: a decision takes some time, and less if nothing changed."""
    plot = tmp_path / "decisions.svg"
    benchmark_synergy.main(["--gpus", "16", "--mechanisms", "tune", "--plot", str(plot)])
    head, line = capsys.readouterr().out.splitlines()
    assert head.split() == ["mechanism", "GPUs", "first", "changed", "slowest", "idle"]
    name, gpus, *costs = line.split()
    assert (name, gpus) == ("tune", "16")
    first, changed, slowest, idle = map(float, costs)
    assert first >= changed > idle > 0
    assert slowest >= changed
    assert plot.stat().st_size > 1000
