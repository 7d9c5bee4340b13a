"""Compare our sensitivities with the matrices of Synergy's program in ../shared.

    python scripts/evaluation/sensitivity.py [../shared/reference/synergy] [--plot epochs.svg]

A matrix is throughput by CPUs and memory per GPU, relative to 3 CPUs and 62.5 GiB. Here it is one curve over
CPUs for any number of GPUs, and a cache that all GPUs of a job share. The first table has the error of
throughput in percent, worst and mean: of one GPU from 62.5 GiB on, of one with 20.83 GiB, and of several. The
second has that of the iteration time at the share of servers with 4, 5 and 6 CPUs per GPU, and that of the
gain of the best case over it. Zeros of the matrices were not profiled and do not count.

The plot is Fig. 2 of the paper, time of an epoch by CPUs per GPU with all data in memory, relative to that
with 3 CPUs; it needs no matrices.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from artist.core.cluster import Allocation, Cluster, Machine, Slice
from artist.core.job import Demand, JobSpec
from artist.drawing.looks import marked_look, style
from artist.entry import script
from artist.performance.effects.compute import Compute
from artist.performance.effects.input_stall import InputStall
from artist.run.sensitivity import read_sensitivities

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MODELS = {
    "alexnet": "AlexNet",
    "shufflenet": "ShuffleNet",
    "res18": "ResNet18",
    "mobilenet": "MobileNetV2",
    "res50": "ResNet50",
    "gnmt": "GNMT",
    "lstm": "LSTM",
    "transformer": "Transformer-XL",
    "bert": "BERT-large",
    "m5": "M5",
    "deepspeech": "DeepSpeech",
}
NOT_IN_THE_PAPER = ("BERT-large",)
CPUS = np.arange(1.0, 25.0)  # of a server with 8 GPUs: those of Fig. 2
MIN_GIB, SHARE = 20.83, (3, 62.5)  # of memory in the matrices; CPUs and GiB per GPU
_GIB, _COMPUTE_NS, _GPUS = 2**30, 10**9, 12
_STALL = InputStall(read_sensitivities(Path("synergy")), Compute())
_CLUSTER = Cluster([Machine("m", 0, "v100", _GPUS, "V100", 0.25)])


@script
def main() -> int:
    """Print both tables, and draw the plot."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", nargs="?", type=Path, help="with sensitivity_matrix.csv and model_summary.csv"
    )
    parser.add_argument("--plot", type=Path, help="file to draw to, such as epochs.svg")
    arguments = parser.parse_args()
    if arguments.folder:
        for row in [*matrix_table(arguments.folder), "", *ratio_table(arguments.folder)]:
            print(row)
    if arguments.plot:
        draw(arguments.plot)
    return 0


def throughput(model: str, gpus: int, cpus: Floats, memory_gib: Floats) -> Floats:
    """Return throughput relative to the share, by CPUs and memory per GPU that broadcast."""
    spec = JobSpec("job", 0, Demand(gpus, measured_speed=0.25), 1, _COMPUTE_NS, model=model)
    place = Allocation((Slice(0, gpus),))

    def time_ns(cpus: Floats, memory_gib: Floats) -> Ints:
        asked = np.rint(cpus * gpus).astype(np.int64), np.rint(memory_gib * gpus * _GIB).astype(np.int64)
        return _COMPUTE_NS + _STALL.on_grid(spec, place, _CLUSTER, _COMPUTE_NS, *asked)

    relative: Floats = time_ns(*(np.array([amount]) for amount in SHARE)) / time_ns(cpus, memory_gib)
    return relative


def epochs(model: str) -> Floats:
    """Return the time of an epoch with each of `CPUS`, relative to 3: one GPU, all data in memory."""
    all_in_memory = np.array([500.0])
    share: Floats = throughput(model, 1, np.array([SHARE[0]]), all_in_memory)
    return share / throughput(model, 1, CPUS, all_in_memory)


def draw(path: Path) -> None:
    """Draw the time of an epoch by CPUs per GPU, a line per model of the paper."""
    import matplotlib.pyplot as plt

    models = [model for model in MODELS.values() if model not in NOT_IN_THE_PAPER]
    with style():
        figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
        for number, model in enumerate(models):
            axes.plot(CPUS, epochs(model), label=model, **marked_look(number) | {"markevery": None})
        axes.set_xticks(CPUS[2::3])
        axes.set(
            xlabel="CPUs per GPU", ylabel="time of an epoch relative to that with 3 CPUs", ylim=(0, None)
        )
        axes.legend(ncols=2)
        figure.savefig(path)
        plt.close(figure)


def errors(matrix: pd.DataFrame, model: str, gpus: int) -> pd.Series:
    """Return ours / theirs - 1 of the points of one matrix, in percent, by CPUs and memory per GPU."""
    chosen = matrix[(matrix["model"] == model) & (matrix["profiled_gpus"] == gpus)]
    chosen = chosen[chosen["relative_throughput"] > 0].set_index(["cpus_per_gpu", "mem_gb_per_gpu"])
    cpus, memory = (chosen.index.get_level_values(level).to_numpy(float) for level in (0, 1))
    ours = throughput(MODELS[model], gpus, cpus, memory)
    percent: pd.Series = 100 * (ours / chosen["relative_throughput"] - 1)
    return percent


def matrix_table(folder: Path) -> Iterator[str]:
    """Yield a Markdown table of the errors by model and GPUs."""
    matrix = pd.read_csv(folder / "sensitivity_matrix.csv")
    matrix = matrix[matrix["profile_set"] == "models"]
    yield "| model | 1 GPU, 62.5 GiB or more | 1 GPU, 20.83 GiB | 2 GPUs | 4 GPUs |"
    yield "|---|--:|--:|--:|--:|"
    for theirs, ours in MODELS.items():
        one, *several = (errors(matrix, theirs, gpus) for gpus in (1, 2, 4))
        little = one.index.get_level_values(1) == MIN_GIB
        cells = map(_shown, (one[~little], one[little], *several))
        yield f"| {ours} | {' | '.join(cells)} |"


def ratio_table(folder: Path) -> Iterator[str]:
    """Yield a Markdown table of the errors by model and CPUs per GPU of the servers."""
    summary = pd.read_csv(folder / "model_summary.csv")
    yield "| model | 4 CPUs per GPU: time, gain | 5 CPUs per GPU: time, gain | 6 CPUs per GPU: time, gain |"
    yield "|---|--:|--:|--:|"
    for theirs, ours in MODELS.items():
        rows = summary[(summary["model"] == theirs) & (summary["profile_set"] != "models")]
        yield f"| {ours} | {' | '.join(_at_ratio(ours, row) for _, row in rows.iterrows())} |"


def _at_ratio(model: str, row: pd.Series) -> str:
    """Return the errors of the time at the share and of the gain over it, in percent."""
    ratio = float(row["cpu_gpu_ratio"])
    at_share, best = throughput(model, 1, np.array([ratio, 8 * ratio]), np.array([SHARE[1], 500]))
    time = row["iter_time_base_s"] / at_share / row["iter_time_s_at_fair_share"]
    gain = best / at_share / row["speedup_ideal_over_fair"]
    return f"{_percent(100 * (time - 1))}, {_percent(100 * (gain - 1))}"


def _shown(percent: pd.Series) -> str:
    """Return the worst and the mean error, as text."""
    if percent.empty:
        return ""
    worst = percent.iloc[int(np.argmax(percent.abs()))]
    return f"{_percent(worst)}, {_percent(percent.abs().mean())}"


def _percent(value: float) -> str:
    return f"{round(value, 1) + 0.0:.1f}"


if __name__ == "__main__":
    sys.exit(main())
