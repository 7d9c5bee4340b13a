"""Measure layers, all-reduces and the exposed communication of iterations, on the user's GPUs.

    pip install 'artist-sim[measure]'
    artist-calibrate measure OUT --models AlexNet VGG11 --batch 128 [--processes 8]
    torchrun --no-python --nproc-per-node 8 artist-calibrate measure OUT --models AlexNet VGG11 --batch 128

One process per GPU: by default all GPUs of this machine or, without any, two processes on its CPU. Writes

    OUT/overheads.csv   exposed communication / compute of each model, for `artist-calibrate measured=FILE`:
                        (iteration - iteration without all-reduces) / iteration without all-reduces, both with
                        DistributedDataParallel on all GPUs at once, of the slowest process
    OUT/layers.csv      times and gradient bytes of each layer on one GPU, for `artist-calibrate layers=FILE`
    OUT/MODEL.json      with --trace: a trace of torch.profiler, for `artist-calibrate trace=FILE model=MODEL`
    OUT/all_reduce.csv  time of an all-reduce by bytes

Layers are timed one by one, on inputs of the size that they have in the model; those without weights count
with the layer before. Work between layers (adding a residual) is not in layers.csv. Everything is fp32.
DistributedDataParallel joins small gradients to buckets of 25 MB; the network models send layer by layer.
AlexNet, VGG11 and a small CNN need torch alone; ResNet18, ResNet50 and MobileNetV3 need torchvision.
"""

import argparse
import csv
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

ROUNDS = 5
ALL_REDUCE_BYTES = tuple(4**power for power in range(5, 15))  # 1 KiB to 256 MiB
LAYER_COLUMNS = ("forward_ns", "input_gradient_ns", "weight_gradient_ns", "gradient_bytes")


@dataclass(frozen=True, slots=True)
class Task:
    """The models, sizes and files of a measurement.

    Parameters
    ----------
    out
        Folder of the tables.
    models
        Names of the models.
    batch
        Samples per iteration of one process.
    image
        Height and width of a sample.
    iterations
        Iterations per round; the median of ROUNDS rounds counts.
    max_bytes
        Size of the largest all-reduce.
    machine_type
        Machine type in the table; empty for the topology's default.
    traces
        Whether to write traces, too.
    """

    out: Path
    models: tuple[str, ...]
    batch: int
    image: int
    iterations: int
    max_bytes: int
    machine_type: str
    traces: bool = False


# --- models


def cnn() -> Any:
    """Return two convolutions and a linear layer, for a first try."""
    return nn.Sequential(
        *(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU()),
        *(nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(16 * 16, 10)),
    )


def alexnet() -> Any:
    """Return AlexNet for 1000 classes, as torchvision sizes it: 61.1 million weights."""
    return nn.Sequential(
        *(nn.Conv2d(3, 64, 11, stride=4, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2)),
        *(nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2)),
        *(nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(), nn.Conv2d(384, 256, 3, padding=1), nn.ReLU()),
        *(nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2), nn.AdaptiveAvgPool2d(6)),
        *(nn.Flatten(), nn.Dropout(), nn.Linear(9216, 4096), nn.ReLU()),
        *(nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1000)),
    )


def vgg11() -> Any:
    """Return VGG11 for 1000 classes: 132.9 million weights."""
    layers: list[Any] = []
    before = 3
    for width in (64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0):
        if width:
            layers += [nn.Conv2d(before, width, 3, padding=1), nn.ReLU()]
            before = width
        else:
            layers.append(nn.MaxPool2d(2))
    layers += [nn.AdaptiveAvgPool2d(7), nn.Flatten(), nn.Linear(512 * 49, 4096), nn.ReLU(), nn.Dropout()]
    layers += [nn.Linear(4096, 4096), nn.ReLU(), nn.Dropout(), nn.Linear(4096, 1000)]
    return nn.Sequential(*layers)


MODELS: dict[str, Callable[[], Any]] = {"CNN": cnn, "AlexNet": alexnet, "VGG11": vgg11}
TORCHVISION = {"ResNet18": "resnet18", "ResNet50": "resnet50", "MobileNetV3": "mobilenet_v3_small"}


def make(name: str) -> Any:
    """Return a model by name, its weights drawn at random."""
    if name in MODELS:
        return MODELS[name]()
    import torchvision

    return getattr(torchvision.models, TORCHVISION[name])()


# --- time


def median_ns(act: Callable[[], object], iterations: int, device: Any) -> int:
    """Return the time of one act in ns: the median over rounds, after one round to warm up."""
    rounds = []
    for _ in range(1 + ROUNDS):
        _wait(device)
        start = perf_counter_ns()
        for _ in range(iterations):
            act()
        _wait(device)
        rounds.append((perf_counter_ns() - start) // iterations)
    return int(statistics.median(rounds[1:]))


def _wait(device: Any) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def slowest(time_ns: int, device: Any) -> int:
    """Return the longest time of all processes."""
    if not dist.is_initialized():
        return time_ns
    times = torch.tensor([time_ns], dtype=torch.float64, device=device)
    dist.all_reduce(times, op=dist.ReduceOp.MAX)
    return int(times.item())


# --- measurements


def overhead(name: str, task: Task, device: Any) -> float:
    """Return the exposed communication of an iteration, relative to the iteration without it."""
    model, sample = _model(name, task, device)
    joined = DistributedDataParallel(model, device_ids=[device.index] if device.type == "cuda" else None)

    def iteration() -> None:
        joined.zero_grad(set_to_none=False)
        joined(sample).sum().backward()

    joined_ns = slowest(median_ns(iteration, task.iterations, device), device)
    with joined.no_sync():
        alone_ns = slowest(median_ns(iteration, task.iterations, device), device)
    return (joined_ns - alone_ns) / alone_ns


def layers(name: str, task: Task, device: Any) -> list[tuple[str, list[int]]]:
    """Return (name, figures by LAYER_COLUMNS) of each layer with weights, in order of the forward pass."""
    model, sample = _model(name, task, device)
    calls: list[tuple[str, Any, Any]] = []
    hooks = []
    for path, module in model.named_modules():
        if not list(module.children()):
            module.inplace = False  # else it could not be timed alone

            def note(module: Any, inputs: Any, path: str = path) -> None:
                calls.append((path, module, inputs[0].detach().clone()))

            hooks.append(module.register_forward_pre_hook(note))
    model(sample)
    for hook in hooks:
        hook.remove()
    timed: list[tuple[str, list[int]]] = []
    for path, module, sample in calls:
        figures = _layer(module, sample, task.iterations, device)
        if timed and not list(module.parameters()):
            timed[-1] = (timed[-1][0], [a + b for a, b in zip(timed[-1][1], figures, strict=True)])
        else:
            known = any(path == name for name, _ in timed)  # called again: its gradient is sent once
            timed.append((path, [*figures[:3], 0 if known else figures[3]]))
    return timed


def trace(name: str, task: Task, device: Any) -> None:
    """Write a trace of some iterations on one GPU, with a range around each layer's forward pass."""
    model, sample = _model(name, task, device)
    open_: list[Any] = []
    for path, module in model.named_modules():
        if not list(module.children()):

            def begin(module: Any, inputs: Any, path: str = path) -> None:
                open_.append(torch.profiler.record_function(path))
                open_[-1].__enter__()

            def end(module: Any, inputs: Any, output: Any) -> None:
                open_.pop().__exit__(None, None, None)

            module.register_forward_pre_hook(begin)
            module.register_forward_hook(end)
    task.out.mkdir(parents=True, exist_ok=True)
    with torch.profiler.profile(record_shapes=True) as profiler:
        for _ in range(ROUNDS):
            model(sample).sum().backward()
            _wait(device)
            profiler.step()
    profiler.export_chrome_trace(str(task.out / f"{name}.json"))


def _layer(module: Any, sample: Any, iterations: int, device: Any) -> list[int]:
    """Return the figures of one layer; the first layer's input gradient, which is not needed, too."""
    sample.requires_grad_(sample.is_floating_point())
    weights = [weight for weight in module.parameters() if weight.requires_grad]
    output = module(sample)
    back = torch.ones_like(output)

    def gradient(of: Sequence[Any]) -> Callable[[], object]:
        return lambda: torch.autograd.grad(output, of, back, retain_graph=True, allow_unused=True)

    return [
        median_ns(lambda: module(sample), iterations, device),
        median_ns(gradient([sample]), iterations, device) if sample.requires_grad else 0,
        median_ns(gradient(weights), iterations, device) if weights else 0,
        sum(weight.numel() * weight.element_size() for weight in weights),
    ]


def all_reduce_ns(size_bytes: int, iterations: int, device: Any) -> int:
    """Return the time of an all-reduce, of the slowest process."""
    tensor = torch.zeros(size_bytes // 4, dtype=torch.float32, device=device)
    return slowest(median_ns(lambda: dist.all_reduce(tensor), iterations, device), device)


def _model(name: str, task: Task, device: Any) -> tuple[Any, Any]:
    torch.manual_seed(0)
    return make(name).to(device), torch.rand(task.batch, 3, task.image, task.image, device=device)


# --- processes and files


def work(rank: int, processes: int, rendezvous: str, task: Task) -> None:
    """Measure in one process; the first writes the tables."""
    gpus = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", rank))) if gpus else torch.device("cpu")
    if gpus:
        torch.cuda.set_device(device)
    else:
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // processes))
    dist.init_process_group(
        "nccl" if gpus else "gloo", init_method=rendezvous, rank=rank, world_size=processes
    )
    try:
        _measure(rank, processes, task, device)
    finally:
        dist.destroy_process_group()


def _measure(rank: int, processes: int, task: Task, device: Any) -> None:
    hardware = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    source = f"artist-calibrate: {processes} x {hardware}; batch {task.batch}; torch {torch.__version__}"
    overheads, times = [], []
    if processes > 1:
        for name in task.models:
            share = overhead(name, task, device)
            if rank == 0:
                print(f"{name}: communication adds {100 * share:.2f} %", file=sys.stderr)
            overheads.append((name, processes, task.machine_type, f"{max(share, 0):.6f}", source))
        for size in ALL_REDUCE_BYTES:
            if size <= task.max_bytes:
                times.append((processes, size, all_reduce_ns(size, task.iterations, device), source))
    if rank == 0:
        rows = [
            (name, layer, *figures, source)
            for name in task.models
            for layer, figures in layers(name, task, device)
        ]
        for name in task.models if task.traces else ():
            trace(name, task, device)
        _write(task.out / "layers.csv", ("model", "layer", *LAYER_COLUMNS, "source"), rows)
        if processes > 1:
            columns = ("model", "gpus", "machine_type", "overhead", "source")
            _write(task.out / "overheads.csv", columns, overheads)
            _write(task.out / "all_reduce.csv", ("gpus", "bytes", "time_ns", "source"), times)
    dist.barrier()


def _write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
    print(path)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and print the files."""
    parser = argparse.ArgumentParser(
        prog="artist-calibrate measure", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("out", type=Path, help="folder of the tables")
    parser.add_argument("--models", nargs="+", default=["AlexNet"], choices=[*MODELS, *TORCHVISION])
    parser.add_argument("--batch", type=int, default=64, help="samples per process")
    parser.add_argument("--image", type=int, default=224, help="height and width of a sample")
    parser.add_argument("--processes", type=int, help="GPUs to use")
    parser.add_argument("--iterations", type=int, default=20, help="iterations per round")
    parser.add_argument("--max-bytes", type=int, default=2**28, help="the largest all-reduce")
    parser.add_argument("--machine-type", default="", help="for the table, a type of your topology")
    parser.add_argument("--trace", action="store_true", help="write traces of torch.profiler, too")
    options = parser.parse_args(argv)
    task = Task(
        options.out,
        tuple(options.models),
        options.batch,
        options.image,
        options.iterations,
        options.max_bytes,
        options.machine_type,
        options.trace,
    )
    if "WORLD_SIZE" in os.environ:  # under torchrun
        work(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), "env://", task)
        return 0
    processes = options.processes or torch.cuda.device_count() or 2
    with tempfile.TemporaryDirectory() as folder:
        rendezvous = Path(folder, "rendezvous").as_uri()
        torch.multiprocessing.spawn(work, (processes, rendezvous, task), nprocs=processes)
    return 0
