"""Compare performance.sensitivity=coda, for the eight models of the CODA paper, with the paper's text.

    python scripts/validation/cpu_side.py [--plot cpu_side.png]

prints three tables, for machines of topology=pcie_10g: by model, the CPUs per GPU needed and the best number,
start and steps of CODA's allocator on one GPU, beside Table II, and memory bandwidth (Figs. 3, 5 to 7);
sentences of the paper, with our figures; and the network model's iteration times on two machines, for which
the paper has 25 to 30 % (section IV-B). "Unhidden" is all communication / compute, as if none of it
overlapped. The CPUs of that table feed GPUs at their slowdown there: needed x GPUs / slowdown.

The plots are those of the figures; the paper's own values are not in its text.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from artist.app.composing import composed
from artist.core.cluster import Allocation, Slice
from artist.core.iteration import IterationParts
from artist.core.job import Demand, JobSpec
from artist.data import data_path
from artist.drawing.looks import marked_look, points, style
from artist.engine.hypothetical import Hypothetical
from artist.performance.api import Changed
from artist.performance.formulas.input_rate import Sensitivity
from artist.policies.coda.core_allocator import GpuJob, TunedCores
from artist.run.build import Simulation, build, check_config, network_profiles
from artist.run.sensitivity import sensitivity_file
from artist.units import BYTES_PER_GB, NS_PER_S
from artist.workload.coda import read_gpu_utilization
from netmodels.api import load_topology, shape_of

STEPS = {  # Table II of the paper
    "AlexNet": 4,
    "VGG16": 4,
    "InceptionV3": 3,
    "ResNet50": 3,
    "BAT": 4,
    "Transformer": 3,
    "WaveNet": 3,
    "DeepSpeech": 3,
}
CV, NLP, SPEECH = (
    ("AlexNet", "VGG16", "InceptionV3", "ResNet50"),
    ("BAT", "Transformer"),
    ("WaveNet", "DeepSpeech"),
)
CONFIGURATIONS = {"1N1G": (1, 1), "1N2G": (1, 2), "1N4G": (1, 4), "2N4G": (2, 4), "2N8G": (2, 8)}
"""Machines and GPUs of a job."""
GPUS, ACROSS = ("1N1G", "1N2G", "1N4G"), ("2N4G", "2N8G")
SETTINGS = (
    *(
        "topology=pcie_10g",
        "cluster.machines=2",
        "workload=csv",
        f"workload.path={data_path('traces', 'tiny.csv')}",
    ),
    *("policy=fifo", "performance.sensitivity=coda", "network.system.preset=papers"),
)


class Placed(NamedTuple):
    """A job of a model on the first machines, with GPUs and CPUs per machine; or one that draws bandwidth.

    Attributes
    ----------
    draws
        Memory bandwidth that it draws, in bytes/s; 0 for that of its model.
    """

    model: str
    gpus: int
    cpus: int
    machines: int = 1
    draws: int = 0


def parts(run: Simulation, *placed: Placed) -> list[IterationParts]:
    """Return the parts of an iteration of jobs side by side, each of which computes for a second."""
    machine = run.cluster.default_machine
    assert machine is not None
    specs = [
        JobSpec(
            str(number),
            submit_ns=0,
            demand=Demand(
                job.gpus * job.machines,
                cpus=job.cpus * job.machines,
                memory_bandwidth_bytes_per_s=job.draws,
                measured_speed=machine.speed if job.gpus else 1.0,
            ),
            iterations=1,
            compute_ns=NS_PER_S,
            model=job.model,
        )
        for number, job in enumerate(placed)
    ]
    held = {
        number: Allocation(tuple(Slice(m, job.gpus, job.cpus) for m in range(job.machines)))
        for number, job in enumerate(placed)
    }
    changed = [Changed(number, None, allocation) for number, allocation in held.items()]
    prices = run.performance.reprice(changed, Hypothetical(specs, run.cluster, held))
    return [prices[number] for number in held]


def seconds(run: Simulation, *placed: Placed) -> float:
    """Return the iteration time of the first of some jobs, in s."""
    return sum(parts(run, *placed)[0]) / NS_PER_S


def of(run: Simulation, model: str) -> Sensitivity:
    """Return the sensitivity of a model to CPUs."""
    assert run.performance.input_stall is not None
    return run.performance.input_stall.models[model]


def best_cpus(run: Simulation, model: str, configuration: str) -> int:
    """Return the CPUs on each machine with which a job is fastest, the least of them."""
    machines, gpus = CONFIGURATIONS[configuration]
    tried = range(1, run.cluster.machines[0].cpus + 1)
    return min(tried, key=lambda cpus: seconds(run, Placed(model, gpus // machines, cpus, machines)))


def at_best(run: Simulation, model: str, configuration: str) -> Placed:
    """Return a job of a model with the CPUs with which it is fastest."""
    machines, gpus = CONFIGURATIONS[configuration]
    return Placed(model, gpus // machines, best_cpus(run, model, configuration), machines)


def core_search(run: Simulation, model: str) -> tuple[int, int, int]:
    """Return the first and the last number of CPUs of CODA's search on one GPU, and its steps."""
    allocator, job = TunedCores(), GpuJob(0, "", model, 1, 0)
    start = allocator.start(job)
    search = allocator.search(job, start, 1)
    while search.next(1 / seconds(run, Placed(model, 1, search.cpus)), lambda cpus: True) is not None:
        pass
    return round(start), search.cpus, search.steps


def beside(run: Simulation, model: str, share: float) -> float:
    """Return the speed of a job on one GPU where another draws a share of the bandwidth, over alone."""
    alone = at_best(run, model, "1N1G")
    there = run.cluster.machines[0].memory_bandwidth_bytes_per_s
    heat = Placed("", 0, 14, draws=max(1, round(share * there)))
    return seconds(run, alone) / seconds(run, alone, heat)


def slowdown_beside(run: Simulation, model: str, gpus: int, other: str) -> float:
    """Return the relative slowdown of a job of some GPUs beside one of another model on one GPU."""
    first, second = (at_best(run, name, f"1N{n}G") for name, n in ((model, gpus), (other, 1)))
    return seconds(run, first, second) / seconds(run, first) - 1


def models_table(run: Simulation) -> Iterator[str]:
    """Yield a Markdown table, a row per model."""
    best = " | ".join(CONFIGURATIONS)
    steps_heads = "allocator's start | its steps | paper's steps"
    bandwidth_heads = "GB/s drawn per GPU | speed where memory bandwidth is used up"
    yield f"| model | CPUs needed per GPU | best CPUs: {best} | {steps_heads} | {bandwidth_heads} |"
    yield f"|---|--:|{'--:|' * len(CONFIGURATIONS)}--:|--:|--:|--:|--:|"
    for model, steps in STEPS.items():
        known, (start, _, end) = of(run, model), core_search(run, model)
        best = " | ".join(str(best_cpus(run, model, configuration)) for configuration in CONFIGURATIONS)
        gb_s = known.memory_bandwidth_bytes_per_s / BYTES_PER_GB
        ours = f"{start} | {end} | {steps} | {gb_s:g} | {beside(run, model, 1.0):.2f}"
        yield f"| {model} | {known.cpus[0]:g} | {best} | {ours} |"


def words_table(run: Simulation) -> Iterator[str]:
    """Yield a Markdown table of the paper's sentences and our figures."""
    yield "| the paper | here |"
    yield "|---|---|"
    gaps = {
        (model, configuration): seconds(run, Placed(model, CONFIGURATIONS[configuration][1], 2))
        / seconds(run, at_best(run, model, configuration))
        for model in STEPS
        for configuration in ("1N1G", "1N4G")
    }
    never = ", ".join(
        f"{model} {configuration}" for (model, configuration), gap in gaps.items() if gap < 1.001
    )
    faster = [gap for gap in gaps.values() if gap > 1.001]
    text = f"no model but {never}; {100 * (min(faster) - 1):.0f} % to {max(faster):.1f}X"
    sentence = "with 2 CPUs no model but Transformer 1N1G is at its best"
    yield f"| {sentence}, and the best is 10 % to over 5X faster | {text} |"
    most = [1 - seconds(run, at_best(run, m, "1N1G")) / seconds(run, Placed(m, 1, 28)) for m in STEPS]
    yield f"| more CPUs than the best make a job slightly slower | by at most {100 * max(most):.1f} % |"
    across = max(best_cpus(run, model, configuration) for model in STEPS for configuration in ACROSS)
    yield f"| on several machines, no job needs more than two CPUs on each | {across} |"
    lost = {model: 100 * (1 - beside(run, model, 1.0)) for model in STEPS}
    sentences = (
        ("where memory bandwidth is used up, only AlexNet of the vision models is slower", CV),
        ("where it is used up, models of text lose at least half", NLP),
        ("where it is used up, DeepSpeech loses more than WaveNet", SPEECH),
    )
    for words, models in sentences:
        losses = ", ".join(f"{model} {lost[model]:.0f} %" for model in models)
        yield f"| {words} | {losses} |"
    pairs = ("AlexNet", 1, "ResNet50"), ("BAT", 2, "AlexNet"), ("BAT", 2, "VGG16")
    for model, gpus, other in pairs:
        percent = 100 * slowdown_beside(run, model, gpus, other)
        yield f"| {_sentence_beside(gpus, other)} | {model}: {percent:.1f} % longer |"


def _sentence_beside(gpus: int, other: str) -> str:
    if gpus == 1:
        return f"jobs of 1N1G never slow each other on PCIe (beside {other} 1N1G)"
    takes = "takes 5 to 10 % longer" if other in ("AlexNet", "ResNet50") else "takes no longer"
    return f"1N{gpus}G beside {other} 1N1G {takes}"


class Apart(NamedTuple):
    """Cost of two machines for a job, against 1N4G.

    Attributes
    ----------
    longer
        Relative slowdown of an iteration.
    unhidden
        Communication / compute, hidden or not.
    cpus
        CPUs on each machine that feed its GPUs at this slowdown.
    """

    longer: float
    unhidden: float
    cpus: float


def apart(run: Simulation, model: str, configuration: str) -> Apart:
    """Return the cost of two machines for a job by the network model."""
    machines, gpus = CONFIGURATIONS[configuration]
    times = seconds(run, at_best(run, model, configuration)) / seconds(run, at_best(run, model, "1N4G"))
    topology, machine = load_topology(run.config.topology), run.cluster.machines[0]
    system = topology.system("papers")
    profiles = network_profiles(run.config.network, topology, system, run.network.model)
    profile = profiles(model).scaled(1 / machine.speed)
    shape = shape_of((0, machine.type, gpus // machines) for _ in range(machines))
    answer = run.network.iteration(profile, shape, topology.fabric, system)
    cpus = of(run, model).cpus[0] * (gpus // machines) / times
    return Apart(times - 1, answer.comm_ns / answer.compute_ns, cpus)


def network_table(run: Simulation) -> Iterator[str]:
    """Yield a Markdown table of jobs on two machines, a row per model."""
    heads = (f"{name} longer than 1N4G, % | unhidden, % | CPUs needed" for name in ACROSS)
    yield f"| model | {' | '.join(heads)} |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for model in STEPS:
        cells = [
            f"{100 * cost.longer:.1f} | {100 * cost.unhidden:.0f} | {cost.cpus:.1f}"
            for cost in (apart(run, model, configuration) for configuration in ACROSS)
        ]
        yield f"| {model} | {' | '.join(cells)} |"


def draw(run: Simulation, path: Path) -> None:
    """Draw Figs. 3, 5, 6 and 7, and the cost of two machines."""
    import matplotlib.pyplot as plt

    with style():
        figure, (above, below) = plt.subplots(2, 3, figsize=(11.5, 6.4), layout="constrained")
        for axes, gpus, most in ((above[0], 1, 10), (above[1], 4, 28)):
            _draw_utilization(axes, run, gpus, range(1, most + 1))
        above[0].legend(fontsize=7, ncols=2, loc="lower right")
        best = [[best_cpus(run, model, configuration) for model in STEPS] for configuration in CONFIGURATIONS]
        _bars(above[2], best, list(CONFIGURATIONS), "CPUs", 31)
        above[2].set_title("best CPUs on each machine (Fig. 5)", fontsize=9, loc="left")
        per_gpu = [of(run, model).memory_bandwidth_bytes_per_s / BYTES_PER_GB for model in STEPS]
        _bars(
            below[0],
            [[gpus * configuration for configuration in per_gpu] for gpus in (1, 2, 4)],
            GPUS,
            "GB/s",
            55,
        )
        below[0].set_title("memory bandwidth (Fig. 6)", fontsize=9, loc="left")
        _draw_contention(below[1], run, [n / 20 for n in range(21)])
        _draw_apart(below[2], run)
        figure.savefig(path, dpi=120)
        plt.close(figure)


def _draw_utilization(axes: Any, run: Simulation, gpus: int, cpus: Sequence[int]) -> None:
    """Draw how busy the GPUs of a machine are by the CPUs of the job."""
    busy = read_gpu_utilization(sensitivity_file(Path("coda")))
    for number, model in enumerate(STEPS):
        used = [100 * busy[model] / seconds(run, Placed(model, gpus, count)) for count in cpus]
        axes.plot(cpus, used, label=model, **(marked_look(number) | {"markevery": len(cpus) // 7}))
    axes.set(xlabel="CPUs of the job", ylabel="GPU utilization (%)", ylim=(0, 100))
    axes.set_title(f"GPU utilization, 1N{gpus}G (Fig. 3)", fontsize=9, loc="left")


def _draw_contention(axes: Any, run: Simulation, shares: Sequence[float]) -> None:
    """Draw the speed of jobs beside one that draws shares of the machine's memory bandwidth."""
    for number, model in enumerate(STEPS):
        speeds = [beside(run, model, share) for share in shares]
        axes.plot([100 * share for share in shares], speeds, **(marked_look(number) | {"markevery": 4}))
    axes.set(xlabel="bandwidth drawn by another job (%)", ylabel="speed / alone", ylim=(0, 1.05))
    axes.set_title("contention for memory bandwidth, 1N1G (Fig. 7)", fontsize=9, loc="left")


def _draw_apart(axes: Any, run: Simulation) -> None:
    """Draw the cost of two machines, with overlapped communication and without."""
    costs = [[apart(run, model, configuration) for model in STEPS] for configuration in ACROSS]
    rows = [[100 * cost.longer for cost in row] for row in costs]
    rows += [[100 * cost.unhidden for cost in row] for row in costs]
    axes.axhspan(25, 30, color="0.75", zorder=0, label="the paper")
    axes.set_yscale("symlog", linthresh=10)
    _bars(
        axes, rows, [*ACROSS, *(f"{configuration}, unhidden" for configuration in ACROSS)], "% of 1N4G", 4000
    )
    ticks = (0, 10, 30, 100, 300)
    axes.set_yticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_title("longer on two machines (section IV-B)", fontsize=9, loc="left")


def _bars(axes: Any, rows: Sequence[Sequence[float]], names: Sequence[str], unit: str, most: float) -> None:
    """Draw bars by model, beside each other by name; dots if the axis is logarithmic."""
    width = 0.8 / len(rows)
    for number, (name, row) in enumerate(zip(names, rows, strict=True)):
        x = [place + (number - (len(rows) - 1) / 2) * width for place in range(len(row))]
        if axes.get_yscale() == "linear":
            axes.bar(x, row, width, label=name, color=marked_look(number)["color"])
        else:
            axes.plot(x, row, label=name, **points(number))
    axes.set_xticks(range(len(STEPS)), list(STEPS), rotation=35, ha="right", fontsize=8)
    axes.set_axisbelow(True)
    axes.grid(visible=False, axis="x")
    axes.set(ylabel=unit, ylim=(min(0, *map(min, rows)), most))
    axes.legend(fontsize=7, ncols=3, loc="upper right", columnspacing=1, handlelength=1)


def simulation() -> Simulation:
    """Return a simulation of two of the paper's machines; its own jobs do not count."""
    return build(check_config(composed(SETTINGS)))


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables, and draw the plots."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--plot", type=Path, help="file to draw to, such as cpu_side.png")
    arguments = parser.parse_args(argv)
    run = simulation()
    for table in (models_table, words_table, network_table):
        print(*table(run), "", sep="\n")
    if arguments.plot:
        draw(run, arguments.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
