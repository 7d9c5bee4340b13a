"""Layers from a trace of torch.profiler (`export_chrome_trace`), JSON or gzipped JSON.

A layer is an innermost range of the forward pass: an `nn.Module` (`with_stack=True`) or a `record_function`
of the user's own. Its forward time is that of its GPU kernels, or of the range itself on a CPU. A backward
function belongs to the layer whose operator has its sequence number; it computes both gradients, so half of
its time counts as that of the weights where the layer has any, all of it in the first layer. Gradient bytes
are the shapes that `AccumulateGrad` is given (`record_shapes=True`). `ProfilerStep#` ranges
(`profiler.step()`) tell iterations apart; the figures are means over them.
"""

import json
import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from artist.errors import InputError
from artist.tables.files import read_text
from netmodels.calibration.calibrated import CalibratedLayer

_BACKWARD = "autograd::engine::evaluate_function: "
_ACCUMULATE = "torch::autograd::AccumulateGrad"
_NO_LAYERS = ("ProfilerStep", "Optimizer.", "DistributedDataParallel.", "DataParallel.", "enumerate(")
_TYPE_BYTES = {"double": 8, "long int": 8, "c10::Half": 2, "c10::BFloat16": 2, "half": 2, "bfloat16": 2}
_FLOAT_BYTES = 4


@dataclass(slots=True)
class _Range:
    """A range of one thread: an operator, a module, a kernel's launch."""

    name: str
    start: float
    end: float
    thread: tuple[object, object]
    args: Mapping[str, Any]


@dataclass(slots=True)
class _Sums:
    """Times of a layer over all iterations, in us."""

    forward: float = 0.0
    backward: float = 0.0
    gradient_bytes: int = 0


def read_trace(
    path: Path, iterations: int | None, gradients: Mapping[str, int] | None
) -> tuple[CalibratedLayer, ...]:
    """Return the layers of a trace, first to last.

    Parameters
    ----------
    path
        The file.
    iterations
        Their number, if no `ProfilerStep#` gives it.
    gradients
        Bytes by layer; None takes the shapes in the trace.

    Raises
    ------
    InputError
        If it is not a trace, or lacks a part that a profile needs.
    """
    events = _events(path)
    steps = sum(_of_cpu(event) and str(event.get("name")).startswith("ProfilerStep#") for event in events)
    count = steps or iterations
    if not count:
        raise InputError(
            "the trace does not say how many iterations it has",
            where=str(path),
            found="no ProfilerStep#",
            allowed="iterations=N, or profiler.step() after each iteration",
        )
    layers = _layers(events, path)
    sums = _summed(events, layers)
    if gradients is None and not any(event.gradient_bytes for event in sums.values()):
        raise InputError(
            "the trace does not say how many bytes of gradients there are",
            where=str(path),
            found=f"{len(sums)} layers, no shapes of {_ACCUMULATE}",
            allowed="gradients=FILE (layer,gradient_bytes), or torch.profiler with record_shapes=True",
        )
    return tuple(
        _layer(name, event, count, place == 0, gradients) for place, (name, event) in enumerate(sums.items())
    )


def layer_names(path: Path) -> tuple[str, ...]:
    """Return the names of the layers in a trace."""
    events = _events(path)
    return tuple(dict.fromkeys(layer.name for layer in _layers(events, path)))


def _events(path: Path) -> list[dict[str, Any]]:
    text = read_text(path, "profiler trace")
    allowed = "a trace of torch.profiler: {'traceEvents': [...]}, as export_chrome_trace writes it"
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError("not JSON", where=str(path), found=str(error), allowed=allowed) from None
    events = content.get("traceEvents") if isinstance(content, dict) else content
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise InputError("no trace", where=str(path), found=type(content).__name__, allowed=allowed)
    whole = [event for event in events if event.get("ph") == "X"]
    for event in whole:
        for name in ("ts", "dur"):
            value = event.get(name)
            if not (isinstance(value, int | float) and math.isfinite(value) and value >= 0):
                where, found = f"{path}, event {str(event.get('name'))!r}, {name}", value
                raise InputError("not a time", where=where, found=found, allowed="us, 0 or more")
    return whole


def _of_cpu(event: Mapping[str, Any]) -> bool:
    return event.get("cat") == "user_annotation"


def _range(event: Mapping[str, Any]) -> _Range:
    start = float(event["ts"])
    args = event.get("args")
    place = event.get("pid"), event.get("tid")
    name = str(event.get("name", ""))
    return _Range(name, start, start + float(event["dur"]), place, args if isinstance(args, dict) else {})


def _layers(events: Iterable[Mapping[str, Any]], path: Path) -> list[_Range]:
    """Return the innermost modules or ranges of the user's, in order of time."""
    ranges = [_range(span) for span in events if span.get("cat") in ("user_annotation", "python_function")]
    modules = [span for span in ranges if span.name.startswith("nn.Module: ")]
    users = [span for span in map(_range, filter(_of_cpu, events)) if not span.name.startswith(_NO_LAYERS)]
    for candidates in (users, modules):
        inner = _innermost(candidates)
        if len({span.name for span in inner}) > 1:
            for span in inner:
                span.name = span.name.removeprefix("nn.Module: ")
            return inner
    raise InputError(
        "the trace does not say which operators are which layer's",
        where=str(path),
        found=f"{len(ranges)} ranges, no two layers among them",
        allowed="torch.profiler with with_stack=True, or record_function(NAME) around each layer",
    )


def _innermost(ranges: list[_Range]) -> list[_Range]:
    ordered = sorted(ranges, key=lambda span: (str(span.thread), span.start, -span.end))
    inner = [
        span
        for span, after in pairwise([*ordered, None])
        if span is not None and (after is None or after.thread != span.thread or after.start >= span.end)
    ]
    return sorted(inner, key=lambda span: span.start)


def _summed(events: list[dict[str, Any]], layers: list[_Range]) -> dict[str, _Sums]:
    """Return the times of each layer, over all iterations."""
    sums = {operator.name: _Sums() for operator in layers}
    operators = sorted(
        (_range(event) for event in events if event.get("cat") == "cpu_op"),
        key=lambda operator: operator.start,
    )
    backward = [operator for operator in operators if operator.name.startswith(_BACKWARD)]
    spent, owners = _Spent(events), _owners(operators, layers)
    for operator in layers:
        sums[operator.name].forward += spent.us(operator)
    last: str | None = None
    layer_of: dict[float, str | None] = {}  # an accumulation follows its function
    for operator in backward:
        last = owners.get(operator.args.get("Sequence number"), last)
        layer_of[operator.start] = last
        if last is not None:
            sums[last].backward += spent.us(operator)
    inside = _Finder(backward)
    for operator in operators:
        around = inside.around(operator) if operator.name == _ACCUMULATE else None
        layer = layer_of[around.start] if around is not None else None
        if layer is not None:
            sums[layer].gradient_bytes += _bytes(operator)
    return sums


def _owners(operators: Iterable[_Range], layers: Iterable[_Range]) -> dict[object, str]:
    """Return the layer of each sequence number: that of the last forward operator with that number."""
    inside = _Finder(layers)
    owners: dict[object, str] = {}
    for operator in operators:
        number, layer = operator.args.get("Sequence number"), inside.around(operator)
        if number is not None and layer is not None:
            owners[number] = layer.name
    return owners


def _bytes(accumulate: _Range) -> int:
    """Return the bytes of the gradient that is accumulated; 0 if shapes were not recorded."""
    dims = [shape for shape in accumulate.args.get("Input Dims") or [] if shape]
    kinds = accumulate.args.get("Input type") or ["float"]
    return math.prod(dims[0]) * _TYPE_BYTES.get(str(kinds[0]), _FLOAT_BYTES) if dims else 0


class _Finder:
    """Finder of the range of a thread around another; the ranges do not overlap."""

    def __init__(self, ranges: Iterable[_Range]) -> None:
        self._threads: dict[object, list[_Range]] = {}
        for span in sorted(ranges, key=lambda span: span.start):
            self._threads.setdefault(span.thread, []).append(span)

    def around(self, inner: _Range) -> _Range | None:
        ranges = self._threads.get(inner.thread, [])
        place = bisect_right(ranges, inner.start, key=lambda span: span.start) - 1
        return ranges[place] if place >= 0 and inner.start < ranges[place].end else None


class _Spent:
    """Time for which a range keeps the GPU busy; on a CPU, its length."""

    def __init__(self, events: Iterable[Mapping[str, Any]]) -> None:
        launched: dict[object, float] = {}
        launches: list[_Range] = []
        for event in events:
            args = event.get("args")
            number = args.get("correlation") if isinstance(args, dict) else None
            if number is not None and event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
                launched[number] = launched.get(number, 0.0) + float(event["dur"])
            elif number is not None and event.get("cat") in ("cuda_runtime", "cuda_driver"):
                launches.append(_range(event))
        launches.sort(key=lambda event: event.start)
        self._on_gpu = bool(launched)
        self._threads: dict[object, tuple[list[float], list[float]]] = {}
        for launch in launches:
            starts, sums = self._threads.setdefault(launch.thread, ([], [0.0]))
            starts.append(launch.start)
            sums.append(sums[-1] + launched.get(launch.args["correlation"], 0.0))

    def us(self, event: _Range) -> float:
        """Return the time of a range."""
        if not self._on_gpu:
            return event.end - event.start
        starts, sums = self._threads.get(event.thread, ([], [0.0]))
        return sums[bisect_right(starts, event.end)] - sums[bisect_right(starts, event.start)]


def _layer(
    name: str, sums: _Sums, iterations: int, first: bool, gradients: Mapping[str, int] | None
) -> CalibratedLayer:
    shapes = sums.gradient_bytes // iterations
    gradient = shapes if gradients is None else gradients.get(name, 0)
    forward, backward = (round(1e3 * us / iterations) for us in (sums.forward, sums.backward))
    weights = backward if first else backward // 2 if gradient else 0
    return CalibratedLayer(
        name=name,
        forward_ns=forward,
        input_gradient_ns=backward - weights,
        weight_gradient_ns=weights,
        gradient_bytes=gradient,
    )
