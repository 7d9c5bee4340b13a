"""artist-calibrate layers= and trace=: profiles of measured layers, which network.profiles uses."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import artist.pricing.command
from netmodels.calibration.calibrated import read_calibrated
from netmodels.profiles.layers import Layer

HEAD = "model,layer,forward_ns,input_gradient_ns,weight_gradient_ns,gradient_bytes,source"
# Two layers by hand, us: forward 0..100 (conv) and 100..140 (fc); backward on another thread, fc first.
CONV = Layer("conv", 100_000, 0, 300_000, 4 * 64 * 3 * 7 * 7)
FC = Layer("fc", 40_000, 50_000, 50_000, 4 * 10 * 64)


def event(cat: str, name: str, ts: float, dur: float, tid: int = 1, **args: object) -> dict[str, Any]:
    """Return a complete event as torch.profiler writes it."""
    return {"ph": "X", "cat": cat, "name": name, "pid": 7, "tid": tid, "ts": ts, "dur": dur, "args": args}


def iteration(start: float, number: int, kind: str = "user_annotation") -> list[dict[str, Any]]:
    """Return the events of one iteration of 600 us, sequence numbers from `number` on."""

    def named(name: str) -> str:
        return name if kind == "user_annotation" else f"nn.Module: {name}"

    conv, fc = ({"Sequence number": number + place, "Fwd thread id": 1} for place in (0, 1))
    shapes = ({"Input Dims": [dims], "Input type": ["float"]} for dims in ([10, 64], [64, 3, 7, 7]))
    engine = "autograd::engine::evaluate_function: "
    gather = "torch::autograd::AccumulateGrad"
    return [
        event("user_annotation", f"ProfilerStep#{number}", start, 600),
        event(kind, named("conv"), start, 100),
        event("cpu_op", "aten::conv2d", start + 1, 90, **{"Sequence number": number}),
        event(kind, named("fc"), start + 100, 40),
        event("cpu_op", "aten::linear", start + 101, 30, **{"Sequence number": number + 1}),
        event("cpu_op", engine + "AddmmBackward0", start + 150, 80, 2, **fc),
        event("cpu_op", engine + gather, start + 230, 20, 2),
        event("cpu_op", gather, start + 231, 10, 2, **next(shapes)),
        event("cpu_op", engine + "ConvolutionBackward0", start + 260, 270, 2, **conv),
        event("cpu_op", engine + gather, start + 540, 30, 2),
        event("cpu_op", gather, start + 541, 10, 2, **next(shapes)),
    ]


def write(events: list[dict[str, Any]], name: str = "run.json") -> str:
    """Write a trace; return the field that names it."""
    text = json.dumps({"schemaVersion": 1, "traceEvents": events})
    path = Path(name)
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return f"trace={name}"


def profile(name: str = "Mine") -> tuple[Layer, ...]:
    """Return the layers of a model as network.profiles reads them."""
    return read_calibrated(Path("calibrated.yaml"))(name).layers


@pytest.mark.parametrize("kind", ["user_annotation", "python_function"])
@pytest.mark.parametrize("name", ["run.json", "run.pt.trace.json.gz"])
def test_a_trace_becomes_a_profile(calibrate, kind, name):
    """Backward: fc 80 + 20 us, half each; conv, being first, 270 + 30 for weights. Means of 2 iterations."""
    result = calibrate(write(iteration(1e6, 0, kind) + iteration(2e6, 2, kind), name), "model=Mine")
    assert result.code == 0, result.err
    assert profile() == (CONV, FC)
    assert result.rows["Mine"] == ["2", "0.140", "0.400", "0.040"]


def test_on_a_gpu_the_kernels_count(calibrate):
    """Conv launches 2 kernels of 500 us in 100 us, fc one of 70 us: launches say whose, kernels how long."""
    launches = [(10, 500, 1), (20, 500, 1), (110, 70, 1), (160, 90, 2), (270, 2000, 2)]
    events = iteration(0, 0)
    for number, (at, dur, tid) in enumerate(launches):
        events.append(event("cuda_runtime", "cudaLaunchKernel", at, 5, tid, correlation=number))
        events.append(event("kernel", "gemm", at + 1000, dur, 99, correlation=number))
    assert calibrate(write(events), "model=Mine").code == 0
    times = [(layer.forward_ns, layer.input_gradient_ns, layer.weight_gradient_ns) for layer in profile()]
    assert times == [(1_000_000, 0, 2_000_000), (70_000, 45_000, 45_000)]


def test_missing_parts_of_a_trace_are_asked_for(calibrate):
    """The model, iterations without `profiler.step()`, bytes without shapes, layers without ranges."""
    bare = [event for event in iteration(0, 0) if not event["name"].startswith(("ProfilerStep", "torch::"))]
    for arguments, told in (
        ((), "model=NAME"),
        (("model=Mine",), "iterations=N"),
        (("model=Mine", "iterations=1"), "gradients=FILE"),
    ):
        result = calibrate(write(bare), *arguments)
        assert (result.code, len(result.err.splitlines())) == (2, 2)
        assert told in result.err
    Path("bytes.csv").write_text("layer,gradient_bytes\nconv,8\nfc,16\n")
    assert calibrate(write(bare), "model=Mine", "iterations=1", "gradients=bytes.csv").code == 0
    assert [layer.gradient_bytes for layer in profile()] == [8, 16]
    Path("bytes.csv").write_text("layer,gradient_bytes\nconf,8\n")
    result = calibrate(write(bare), "model=Mine", "iterations=1", "gradients=bytes.csv")
    assert "did you mean 'conv'" in result.err
    operators = [event for event in iteration(0, 0) if event["cat"] == "cpu_op" or "Step" in event["name"]]
    assert "record_function(NAME) around each layer" in calibrate(write(operators), "model=Mine").err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[1]", "no trace"),
        ('{"events": []}', "no trace"),
        ('[{"ph": "X", "name": "a", "ts": NaN, "dur": 1}]', "not a time"),
        ('[{"ph": "X", "name": "a", "ts": "1", "dur": 1}]', "not a time"),
    ],
)
def test_a_file_that_is_no_trace_is_refused(calibrate, text, told):
    """Two lines with the file, and nothing written."""
    Path("run.json").write_text(text)
    result = calibrate("trace=run.json", "model=Mine")
    assert (result.code, len(result.err.splitlines())) == (2, 2)
    assert told in result.err
    assert "run.json" in result.err
    assert not Path("calibrated.yaml").exists()


def test_the_table_of_the_measuring_script_becomes_profiles(calibrate, called):
    """Models that ship have the measured layers, others are new; artist-network prices both."""
    rows = ["AlexNet,conv,100,50,60,4000000,me", "AlexNet,fc,10,20,30,8,me", "Mine,only,5,0,5,16,me"]
    Path("layers.csv").write_text("\n".join([HEAD, *rows]) + "\n")
    assert calibrate("layers=layers.csv").code == 0
    assert profile("alexnet") == (Layer("conv", 100, 50, 60, 4_000_000), Layer("fc", 10, 20, 30, 8))
    assert profile("Mine") == (Layer("only", 5, 0, 5, 16),)
    prices = ("network.profiles=calibrated.yaml", "model=[AlexNet,Mine]", "shape=4+4")
    code, out, err = called(artist.pricing.command.main, *prices)
    assert code == 0, err
    assert "Mine" in out


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("AlexNet,conv,1.5,1,1,1,", "not a whole number"),
        ("AlexNet,conv,-1,1,1,1,", "not a whole number"),
        ("AlexNet,conv,,1,1,1,", "not a whole number"),
        ("AlexNet,fc,1,1,1,1,", "a layer twice"),
        (",conv,1,1,1,1,", "no name"),
    ],
)
def test_a_bad_layer_is_refused_with_its_line(calibrate, row, told):
    """File and line, what was found, what is allowed."""
    Path("layers.csv").write_text("\n".join([HEAD, "AlexNet,fc,1,1,1,1,", row]) + "\n")
    result = calibrate("layers=layers.csv")
    assert (result.code, len(result.err.splitlines())) == (2, 2)
    assert "layers.csv, line 3" in result.err
    assert told in result.err


def test_tables_without_a_column_a_row_or_a_time_are_refused(calibrate):
    """The table of all-reduces lies beside it, and is easily taken for it."""
    for text, told in (
        ("gpus,bytes,time_ns,source\n8,1024,20000,me\n", "column model is missing"),
        (HEAD + "\n", "empty table"),
        (HEAD + "\nAlexNet,fc,0,0,0,8,\n", "layers that take no time"),
    ):
        Path("layers.csv").write_text(text)
        assert told in calibrate("layers=layers.csv").err


def test_times_of_a_slower_gpu_are_scaled(calibrate):
    """A GPU of speed 0.25 takes 400 ns, an H100 a fourth, 100 ns; no gradients are told."""
    Path("layers.csv").write_text(HEAD + "\nMine,fc,400,0,0,0,me\n")
    result = calibrate("layers=layers.csv", "machine.speed=0.25")
    assert result.code == 0
    assert "GPU of speed 0.25" in result.err
    assert "Mine has no gradients" in result.err
    assert read_calibrated(Path("calibrated.yaml"))("Mine").compute_ns == 100


def test_measurements_are_not_written_over(calibrate):
    """A table or a trace named as out= is refused, and is still there."""
    Path("layers.csv").write_text(HEAD + "\nMine,fc,400,0,0,8,me\n")
    trace = write(iteration(0, 0))
    for arguments in (("layers=layers.csv", "out=layers.csv"), (trace, "model=Mine", "out=run.json")):
        result = calibrate(*arguments)
        assert (result.code, len(result.err.splitlines())) == (2, 2)
        assert "a file that is read" in result.err
    assert Path("layers.csv").read_text().startswith(HEAD)


def test_figures_that_no_layer_has_are_refused(calibrate):
    """Up to 10^13 ns and bytes: 31 years of a table; 600 us x 10^9 of a trace in wrong units."""
    Path("layers.csv").write_text(HEAD + "\nMine,fc,1000000000000000000,0,0,8,me\n")
    assert "layers.csv, line 2, forward_ns" in calibrate("layers=layers.csv").err
    long = [{**event, "ts": event["ts"] * 1e9, "dur": event["dur"] * 1e9} for event in iteration(0, 0)]
    assert "too much for a layer" in calibrate(write(long), "model=Mine").err
