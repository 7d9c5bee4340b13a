"""Measure layers, all-reduces and what they add to an iteration, on your own GPUs.

    pip install 'artist-sim[measure]'
    python scripts/measure.py OUT --models AlexNet VGG11 --batch 128 [--processes 8]
    torchrun --nproc-per-node 8 scripts/measure.py OUT --models AlexNet VGG11 --batch 128

One process a GPU: by default all GPUs of this machine or, without any, two processes on its CPU. Writes

    OUT/overheads.csv   exposed communication / compute of each model, for `artist-calibrate measured=FILE`:
                        (iteration - iteration that does not all-reduce) / iteration that does not all-reduce,
                        both with DistributedDataParallel on all GPUs at once, of the slowest process
    OUT/layers.csv      times and gradient bytes of each layer on one GPU, for `artist-calibrate layers=FILE`
    OUT/MODEL.json      with --trace: a trace of torch.profiler, for `artist-calibrate trace=FILE model=MODEL`
    OUT/all_reduce.csv  time of an all-reduce by bytes

Layers are timed one by one, on inputs as large as in the model; those without weights count with the
layer before. What happens between layers (adding a residual) is not in layers.csv. Everything is fp32.
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

try:
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel
except ModuleNotFoundError:
    sys.exit("scripts/measure.py needs PyTorch: pip install 'artist-sim[measure]'")

ROUNDS = 5
ALL_REDUCE_BYTES = tuple(4**power for power in range(5, 15))  # 1 KiB to 256 MiB
LAYER_COLUMNS = ("forward_ns", "input_gradient_ns", "weight_gradient_ns", "gradient_bytes")


@dataclass(frozen=True, slots=True)
class Task:
    """What to measure.

    Parameters
    ----------
    out
        Folder of the tables.
    models
        Names.
    batch
        Samples of an iteration of one process.
    image
        Height and width of a sample.
    iterations
        Of each of ROUNDS rounds; the median round counts.
    max_bytes
        The largest all-reduce.
    machine_type
        For the table; empty for the topology's default.
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
    """Return two convolutions and a linear layer, to try this script with."""
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


# --- what is measured


def overhead(name: str, task: Task, device: Any) -> float:
    """Return what communication adds to an iteration, relative to the iteration without it."""
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
    found: list[tuple[str, list[int]]] = []
    for path, module, given in calls:
        figures = _layer(module, given, task.iterations, device)
        if found and not list(module.parameters()):
            found[-1] = (found[-1][0], [a + b for a, b in zip(found[-1][1], figures, strict=True)])
        else:
            known = any(path == each for each, _ in found)  # called again: its gradient is sent once
            found.append((path, [*figures[:3], 0 if known else figures[3]]))
    return found


def trace(name: str, task: Task, device: Any) -> None:
    """Write a trace of some iterations on one GPU, with a range around each layer's forward pass."""
    model, sample = _model(name, task, device)
    open_: list[Any] = []
    for path, module in model.named_modules():
        if not list(module.children()):

            def begin(module: Any, inputs: Any, path: str = path) -> None:
                open_.append(torch.profiler.record_function(path))
                open_[-1].__enter__()

            def end(module: Any, inputs: Any, made: Any) -> None:
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


def _layer(module: Any, given: Any, iterations: int, device: Any) -> list[int]:
    """Return the figures of one layer; the first layer's input gradient, which is not needed, too."""
    given.requires_grad_(given.is_floating_point())
    weights = [each for each in module.parameters() if each.requires_grad]
    made = module(given)
    back = torch.ones_like(made)

    def gradient(of: Sequence[Any]) -> Callable[[], object]:
        return lambda: torch.autograd.grad(made, of, back, retain_graph=True, allow_unused=True)

    return [
        median_ns(lambda: module(given), iterations, device),
        median_ns(gradient([given]), iterations, device) if given.requires_grad else 0,
        median_ns(gradient(weights), iterations, device) if weights else 0,
        sum(each.numel() * each.element_size() for each in weights),
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
    what = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    source = f"scripts/measure.py: {processes} x {what}; batch {task.batch}; torch {torch.__version__}"
    overheads, times = [], []
    if processes > 1:
        for name in task.models:
            found = overhead(name, task, device)
            _say(rank, f"{name}: communication adds {100 * found:.2f} %")
            overheads.append((name, processes, task.machine_type, f"{max(found, 0):.6f}", source))
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


def _say(rank: int, text: str) -> None:
    if rank == 0:
        print(text, file=sys.stderr)


def _write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
    print(path)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and print the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path, help="folder of the tables")
    parser.add_argument("--models", nargs="+", default=["AlexNet"], choices=[*MODELS, *TORCHVISION])
    parser.add_argument("--batch", type=int, default=64, help="samples of a process")
    parser.add_argument("--image", type=int, default=224, help="height and width of a sample")
    parser.add_argument("--processes", type=int, help="GPUs to use")
    parser.add_argument("--iterations", type=int, default=20, help="of a round")
    parser.add_argument("--most-bytes", type=int, default=2**28, help="the largest all-reduce")
    parser.add_argument("--machine-type", default="", help="for the table, a type of your topology")
    parser.add_argument("--trace", action="store_true", help="write traces of torch.profiler, too")
    given = parser.parse_args(argv)
    task = Task(
        given.out,
        tuple(given.models),
        given.batch,
        given.image,
        given.iterations,
        given.max_bytes,
        given.machine_type,
        given.trace,
    )
    if "WORLD_SIZE" in os.environ:  # under torchrun
        work(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), "env://", task)
        return 0
    processes = given.processes or torch.cuda.device_count() or 2
    with tempfile.TemporaryDirectory() as folder:
        rendezvous = Path(folder, "rendezvous").as_uri()
        torch.multiprocessing.spawn(work, (processes, rendezvous, task), nprocs=processes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
