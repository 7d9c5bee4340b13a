"""Layers from a trace of torch.profiler (`export_chrome_trace`) of one process, JSON or gzipped JSON.

A layer is an `nn.Module` (`with_stack=True`) or a `record_function` of the user's own, without the layers
inside it. A kernel belongs to the layer, or to the backward function, that launched it, and a backward
function to the layer whose operator has its sequence number; it computes both gradients, so half of its time
counts as that of the weights where the layer has any, all of it in the first layer. While kernels of several
streams overlap, the time counts once. Kernels of collectives (the network model has their times), copies, the
optimizer and all else after the backward pass are in no layer, and noted.

Gradient bytes are the shapes that `AccumulateGrad` is given (`record_shapes=True`). `ProfilerStep#` ranges
(`profiler.step()`) separate iterations; the figures are means over those with a backward pass.
"""

import json
import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from artist.calibrating.layers import read_gradients
from artist.errors import InputError
from artist.tables.files import read_text
from netmodels.calibration.calibrated import CalibratedLayer

_BACKWARD = "autograd::engine::evaluate_function: "
_ACCUMULATE = "torch::autograd::AccumulateGrad"
_MODULE, _STEP, _OPTIMIZER = "nn.Module: ", "ProfilerStep#", "Optimizer."
_NO_LAYERS = (_STEP, _OPTIMIZER, "DistributedDataParallel.", "DataParallel.", "enumerate(")
_ON_GPU = "gpu_user_annotation"
_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
_OLD = {"operator": "cpu_op", "runtime": "cuda_runtime", "memcpy": "gpu_memcpy", "memset": "gpu_memset"}
_COPY = re.compile(r"memcpy|memset|rocclr_(?:copy|fill)", re.IGNORECASE)
_COLLECTIVE = re.compile(
    r"(?<!c)ccl|nvshmem", re.IGNORECASE
)  # NCCL, RCCL, oneCCL, MSCCL; CCCL is another thing
_TYPE_BYTES = {"double": 8, "long int": 8, "c10::Half": 2, "c10::BFloat16": 2, "half": 2, "bfloat16": 2}
_FLOAT_BYTES = 4
_MIN_LAYERS = 2
_FORMAT = "a trace of torch.profiler: {'traceEvents': [...]}, as export_chrome_trace writes it"


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace of one model.

    Parameters
    ----------
    layers
        First to last; means over the iterations.
    notes
        Omitted kernels and iterations, one line each.
    gpu
        Name of the GPU; empty in traces that do not state it.
    """

    layers: tuple[CalibratedLayer, ...]
    notes: tuple[str, ...]
    gpu: str


@dataclass(slots=True, eq=False)
class _Range:
    """A range of one thread: an operator, a module, a kernel's launch."""

    category: str
    name: str
    start: float
    end: float
    thread: tuple[object, object]
    args: Mapping[str, Any]
    outer: "_Range | None" = None
    owner: str = ""  # layer of a backward function

    @property
    def number(self) -> str:
        """Sequence number of an operator; empty without one."""
        return str(self.args.get("Sequence number", ""))

    @property
    def layer(self) -> str:
        """Name of the innermost layer around; empty without one."""
        span: _Range | None = self
        while span is not None and span.name.startswith(_NO_LAYERS) and not span.name.startswith(_OPTIMIZER):
            span = span.outer
        return span.name.removeprefix(_MODULE) if span and not span.name.startswith(_OPTIMIZER) else ""


@dataclass(slots=True)
class _Sums:
    """Times of a layer over all iterations, in us."""

    forward: float = 0.0
    backward: float = 0.0
    gradient_bytes: int = 0


def read_trace(path: Path, iterations: int | None, gradients: Path | None) -> Trace:
    """Read a trace.

    Parameters
    ----------
    path
        The file.
    iterations
        Their number, if no `ProfilerStep#` gives it.
    gradients
        Table of bytes by layer; None takes the shapes in the trace.

    Raises
    ------
    InputError
        If it is no trace, lacks a part that a profile needs, or has layers that take longer than iterations.
    """
    content = _content(path)
    events = _events(content, path)
    launches = _launches(events, path)
    operators = _ranges(events, "cpu_op")
    steps = _Steps(_marks(events, iterations, path), iterations, operators)
    sums, apart = _summed(events, launches, operators, steps)
    table = None if gradients is None else read_gradients(gradients, tuple(sums))
    for name, layer in sums.items():
        shapes = layer.gradient_bytes // steps.count
        layer.gradient_bytes = shapes if table is None else table.get(name, 0)
    sums = {
        name: layer
        for name, layer in sums.items()
        if any((layer.forward, layer.backward, layer.gradient_bytes))
    }
    _check_layers(sums, table is not None, path)
    steps.check_length(sum(layer.forward + layer.backward for layer in sums.values()), path)
    layers = [
        _layer(name, layer, steps.count, place == 0) for place, (name, layer) in enumerate(sums.items())
    ]
    times = ", ".join(f"{us / 1e3 / steps.count:,.3f} ms of {name}" for name, us in apart.items() if us)
    notes = (*steps.left_out, *([f"in no layer, per iteration: {times}"] if times else []))
    return Trace(tuple(layers), notes, _gpu(content))


def _content(path: Path) -> Any:
    text = read_text(path, "profiler trace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError("not JSON", where=str(path), found=str(error), allowed=_FORMAT) from None


def _events(content: Any, path: Path) -> list[dict[str, Any]]:
    """Return the complete events; categories have their present names (before PyTorch 1.11 they differed)."""
    events = content.get("traceEvents") if isinstance(content, dict) else content
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise InputError("no trace", where=str(path), found=type(content).__name__, allowed=_FORMAT)
    whole = [event for event in events if event.get("ph") == "X"]
    for event in whole:
        for name in ("ts", "dur"):
            value = event.get(name)
            if not (isinstance(value, int | float) and math.isfinite(value) and value >= 0):
                where = f"{path}, event {str(event.get('name'))[:60]!r}, {name}"
                raise InputError("not a time", where=where, found=value, allowed="us, 0 or more")
        category = str(event.get("cat")).lower()
        args = event.get("args")
        event.update(
            cat=_OLD.get(category, category),
            name=str(event.get("name", "")),
            args=args if isinstance(args, dict) else {},
        )
    return whole


def _gpu(content: Any) -> str:
    devices = content.get("deviceProperties") if isinstance(content, dict) else None
    first = devices[0] if isinstance(devices, list) and devices else None
    return str(first.get("name", "")) if isinstance(first, dict) else ""


def _ranges(events: Iterable[Mapping[str, Any]], *categories: str) -> list[_Range]:
    """Return the events of categories with such ends, in order of time, outer before inner ones."""
    ranges = []
    for event in events:
        if event["cat"].endswith(categories):
            start, thread = float(event["ts"]), (str(event.get("pid")), str(event.get("tid")))
            end = start + float(event["dur"])
            ranges.append(_Range(event["cat"], event["name"], start, end, thread, event["args"]))
    return sorted(ranges, key=lambda span: (span.start, -span.end))


def _launches(events: Sequence[Mapping[str, Any]], path: Path) -> dict[str, _Range]:
    """Return the launches of kernels by correlation.

    Raises
    ------
    InputError
        If no kernel that computes has one.
    """
    launches = {str(span.args.get("correlation")): span for span in _ranges(events, "_runtime", "_driver")}
    kernels = [event for event in events if event["cat"] == "kernel"]
    if not any(_work(kernel) == "computing" and _correlation(kernel) in launches for kernel in kernels):
        devices = Counter(event["cat"] for event in events if event["cat"] in _DEVICE)
        counts = (
            ", ".join(f"{count} {category}" for category, count in devices.items()) or "no event of a GPU"
        )
        raise InputError(
            "no kernel that computes, with its launch; times on a CPU are not those of a GPU",
            where=str(path),
            found=counts + (f", such as {kernels[0]['name'][:60]}" if kernels else ""),
            allowed="torch.profiler with ProfilerActivity.CPU and ProfilerActivity.CUDA, of a job on GPUs",
        )
    return launches


def _correlation(event: Mapping[str, Any]) -> str:
    return str(event["args"].get("correlation"))


def _work(event: Mapping[str, Any]) -> str:
    """Return the work of an event of a GPU: copies, collectives or computing."""
    if event["cat"] != "kernel" or _COPY.search(event["name"]):
        return "copies"
    collective = "Collective name" in event["args"] or _COLLECTIVE.search(event["name"])
    return "collectives" if collective else "computing"


def _marks(events: Iterable[Mapping[str, Any]], iterations: int | None, path: Path) -> list[_Range]:
    """Return the `ProfilerStep#` ranges, those of the GPU too; none with `iterations=N` alone."""
    marks = [span for span in _ranges(events, "user_annotation", "cpu_op") if span.name.startswith(_STEP)]
    names = [mark.name for mark in marks if mark.category != _ON_GPU]
    if len(set(names)) < len(names):
        allowed = "the trace of one process of a job; all compute the same"
        twice = max(names, key=names.count)
        raise InputError("an iteration twice", where=str(path), found=twice, allowed=allowed)
    if not names and not iterations:
        raise InputError(
            "the trace does not say how many iterations it has",
            where=str(path),
            found=f"no {_STEP}",
            allowed="iterations=N, or profiler.step() after each iteration",
        )
    if names and iterations not in (None, len(names)):
        what, allowed = f"the trace has {len(names)} {_STEP}", "null: the number is that of the trace"
        raise InputError(what, where="iterations", found=iterations, allowed=allowed)
    return marks


class _Steps:
    """Iterations of a trace: its `ProfilerStep#` ranges, or one range of `iterations=N`."""

    def __init__(self, marks: Sequence[_Range], iterations: int | None, operators: Iterable[_Range]) -> None:
        self._steps = steps = [mark for mark in marks if mark.category != _ON_GPU]
        self._starts = [step.start for step in steps]
        functions = (operator.start for operator in operators if operator.name.startswith(_BACKWARD))
        last = {self.of(start): start for start in functions}  # in order of time
        self._last_backward = {place: at for place, at in last.items() if place is not None}
        on_gpu = {mark.name: mark for mark in marks if mark.category == _ON_GPU}
        counted = [on_gpu.get(step.name, step) for place, step in enumerate(steps) if place in last]
        self._length_us = sum(step.end - step.start for step in counted)
        self.count = len(counted) or iterations or 1
        others = [step.name for place, step in enumerate(steps) if place not in last]
        self.left_out = [f"left out, without a backward pass: {', '.join(others)}"] if others else []

    def of(self, at: float) -> int | None:
        """Return the place of the iteration around a time; None outside of all."""
        if not self._steps:
            return 0
        place = bisect_right(self._starts, at) - 1
        return place if place >= 0 and at < self._steps[place].end else None

    def in_forward(self, at: float) -> bool:
        """Return whether a time is in an iteration, before its last backward function."""
        place = self.of(at)
        return place is not None and at < self._last_backward.get(place, -math.inf)

    def check_length(self, layers_us: float, path: Path) -> None:
        """Raise InputError if layers take longer than iterations: those on the GPU, if the trace has them."""
        if self._steps and layers_us > self._length_us:
            layers_ms, mean_ms = (us / self.count / 1e3 for us in (layers_us, self._length_us))
            raise InputError(
                "the layers take longer than the mean iteration",
                where=str(path),
                found=f"{layers_ms:,.3f} ms in {mean_ms:,.3f} ms",
                allowed="iterations that wait for kernels: torch.cuda.synchronize() before profiler.step()",
            )


class _Finder:
    """Finder of the innermost range of a thread around the start of another; those of a thread are nested."""

    def __init__(self, ranges: Iterable[_Range]) -> None:
        self._threads: dict[object, tuple[list[float], list[_Range]]] = {}
        for span in ranges:
            starts, spans = self._threads.setdefault(span.thread, ([], []))
            span.outer = _around(spans[-1] if spans else None, span.start)
            starts.append(span.start)
            spans.append(span)

    def around(self, inner: _Range) -> _Range | None:
        starts, spans = self._threads.get(inner.thread, ([], []))
        place = bisect_right(starts, inner.start) - 1
        return _around(spans[place] if place >= 0 else None, inner.start)


def _around(span: _Range | None, at: float) -> _Range | None:
    while span is not None and span.end <= at:
        span = span.outer
    return span


def _summed(
    events: Sequence[Mapping[str, Any]],
    launches: Mapping[str, _Range],
    operators: Sequence[_Range],
    steps: _Steps,
) -> tuple[dict[str, _Sums], dict[str, float]]:
    """Return times and bytes of layers over all iterations, and times in no layer by reason, in us."""
    named = _named(events)
    modules = _Finder(named)
    functions = _Finder(operator for operator in operators if operator.name.startswith(_BACKWARD))
    _set_owners(operators, modules, functions)
    sums = defaultdict(_Sums, {span.layer: _Sums() for span in named if steps.in_forward(span.start)})
    for gradient in (operator for operator in operators if operator.name == _ACCUMULATE):
        function = functions.around(gradient)
        if function is not None and steps.of(function.start) is not None:
            sums[function.owner].gradient_bytes += _bytes(gradient)
    apart: dict[str, float] = defaultdict(float)
    for event, us in _busy(events):
        launch = launches.get(_correlation(event))
        if launch is None or steps.of(launch.start) is None:
            continue
        function, module = functions.around(launch), modules.around(launch)
        if _work(event) != "computing":
            apart[_work(event)] += us
        elif function is not None:
            sums[function.owner].backward += us
        elif module is not None and module.name.startswith(_OPTIMIZER):
            apart["the optimizer"] += us
        else:
            sums[module.layer if module and steps.in_forward(launch.start) else ""].forward += us
    others = sums.pop("", _Sums())
    apart["other kernels"] = others.forward + others.backward
    return dict(sums), apart


def _named(events: Iterable[Mapping[str, Any]]) -> list[_Range]:
    """Return modules, and ranges of the user's and of PyTorch's own."""
    ranges = _ranges(events, "user_annotation", "python_function")
    return [span for span in ranges if span.category == "user_annotation" or span.name.startswith(_MODULE)]


def _busy(events: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], float]]:
    """Yield events of a GPU with their times in us; where kernels overlap, the first has the time."""
    until = 0.0
    free: dict[tuple[str, str], float] = {}  # by stream, whose kernels follow each other
    for event in sorted(
        (event for event in events if event["cat"] in _DEVICE), key=lambda event: event["ts"]
    ):
        us = float(event["dur"])
        if _work(event) == "computing":
            stream = str(event.get("pid")), str(event.get("tid"))
            start = max(float(event["ts"]), free.get(stream, 0.0))
            free[stream] = start + us
            until, us = max(until, start + us), max(0.0, us - max(0.0, until - start))
        yield event, us


def _set_owners(operators: Iterable[_Range], modules: _Finder, functions: _Finder) -> None:
    """Set the layers of backward functions.

    It is that of the last forward operator with the function's sequence number; without one, as for an
    accumulation, that of the function before.
    """
    layers: dict[str, str] = {}
    last = ""
    for operator in operators:
        function, module = functions.around(operator), modules.around(operator)
        layer = module.layer if module is not None else ""
        if operator.number and layer and (function is None or operator.number not in layers):
            layers[operator.number] = layer
        if operator is function:
            operator.owner = last = layers.get(operator.number, last)


def _bytes(accumulate: _Range) -> int:
    """Return the bytes of the gradient that is accumulated; 0 if shapes were not recorded."""
    shapes, kinds = (accumulate.args.get(name) for name in ("Input Dims", "Input type"))
    shape = next((shape for shape in shapes if shape), None) if isinstance(shapes, list) else None
    if not isinstance(shape, list) or not all(isinstance(length, int) for length in shape):
        return 0
    kind = str(kinds[0]) if isinstance(kinds, list) and kinds else "float"
    return math.prod(shape) * _TYPE_BYTES.get(kind, _FLOAT_BYTES)


def _check_layers(sums: Mapping[str, _Sums], has_table: bool, path: Path) -> None:
    """Raise InputError for a trace without two layers, or without gradients."""
    if len(sums) < _MIN_LAYERS:
        raise InputError(
            "the trace does not say which operators are which layer's",
            where=str(path),
            found=f"kernels of {', '.join(sums) or 'no layer'}",
            allowed="torch.profiler with with_stack=True, or record_function(NAME) around each layer",
        )
    if not has_table and not any(layer.gradient_bytes for layer in sums.values()):
        raise InputError(
            "the trace does not say how many bytes of gradients there are",
            where=str(path),
            found=f"{len(sums)} layers, no shapes of {_ACCUMULATE}",
            allowed="gradients=FILE (layer,gradient_bytes), or torch.profiler with record_shapes=True",
        )


def _layer(name: str, sums: _Sums, iterations: int, first: bool) -> CalibratedLayer:
    forward, backward = (round(1e3 * us / iterations) for us in (sums.forward, sums.backward))
    weights = backward if first else backward // 2 if sums.gradient_bytes else 0
    return CalibratedLayer(
        name=name,
        forward_ns=forward,
        input_gradient_ns=backward - weights,
        weight_gradient_ns=weights,
        gradient_bytes=sums.gradient_bytes,
    )
