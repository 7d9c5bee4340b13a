"""artist-calibrate layers= and trace=: profiles of measured layers, which network.profiles uses."""

import gzip
import json
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import artist.pricing.command
from netmodels.calibration.calibrated import read_calibrated
from netmodels.profiles.layers import Layer

HEAD = "model,layer,forward_ns,input_gradient_ns,weight_gradient_ns,gradient_bytes,source"
# Two layers by hand; their kernels, us: forward 100 (conv) and 40 (fc); backward fc 80 + 20, conv 270 + 30.
KERNELS = ((10, 100, 1), (110, 40, 1), (160, 80, 2), (240, 20, 2), (270, 270, 2), (550, 30, 2))
CONV = Layer("conv", 100_000, 0, 300_000, 4 * 64 * 3 * 7 * 7)
FC = Layer("fc", 40_000, 50_000, 50_000, 4 * 10 * 64)


def event(cat: str, name: str, ts: float, dur: float, tid: int = 1, **args: object) -> dict[str, Any]:
    """Return a complete event as torch.profiler writes it."""
    return {"ph": "X", "cat": cat, "name": name, "pid": 7, "tid": tid, "ts": ts, "dur": dur, "args": args}


def work(start: float, launched: float, dur: float, thread: int = 1, **kernel: Any) -> list[dict[str, Any]]:
    """Return a launch by a thread, `launched` us after `start`, and its kernel, at once, on stream 7."""
    at = start + launched
    told = {"cat": "kernel", "name": "gemm", "tid": 7, "ts": at, **kernel}
    args = {"correlation": at, **told.pop("args", {})}
    runtime = "hipLaunchKernel" if told["cat"] == "Kernel" else "cudaLaunchKernel"
    return [event("cuda_runtime", runtime, at, 5, thread, correlation=at), event(dur=dur, **told, **args)]


def iteration(
    start: float,
    number: int,
    kind: str = "user_annotation",
    kernels: Iterable[tuple[float, float, int]] = KERNELS,
) -> list[dict[str, Any]]:
    """Return the events of one iteration of 600 us on the CPU, sequence numbers from `number` on."""

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
        *chain.from_iterable(work(start, *kernel) for kernel in kernels),
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


def times() -> list[tuple[int, int]]:
    """Return the forward and backward times of the layers, us."""
    return [
        (layer.forward_ns // 1000, (layer.input_gradient_ns + layer.weight_gradient_ns) // 1000)
        for layer in profile()
    ]


@pytest.mark.parametrize(
    ("kernel", "told"),
    [
        (
            {"name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"},
            "collectives",
        ),
        ({"name": "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"}, "collectives"),
        ({"name": "void NCCLDEVKERNEL_Generic"}, "collectives"),
        ({"name": "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage)", "cat": "Kernel"}, "collectives"),
        ({"name": "rcclKernel_AllReduce", "cat": "Kernel"}, "collectives"),
        ({"name": "mscclKernel_Sum_half_LL"}, "collectives"),
        ({"name": "oneccl_allreduce_large"}, "collectives"),
        ({"name": "one_shot_all_reduce", "args": {"Collective name": "allreduce"}}, "collectives"),
        ({"name": "Memcpy HtoD (Pinned -> Device)", "cat": "gpu_memcpy"}, "copies"),
        ({"name": "Memset (Device)", "cat": "Memset"}, "copies"),
        ({"name": "__amd_rocclr_copyBuffer", "cat": "Kernel"}, "copies"),
    ],
)
def test_collectives_and_copies_are_in_no_layer(calibrate, kernel, told):
    """300 us launched by fc's backward function: the network model has their time; backward stays 400 us."""
    result = calibrate(write(iteration(0, 0) + work(0, 170, 300, 2, **{"tid": 20, **kernel})), "model=Mine")
    assert result.code == 0, result.err
    assert profile() == (CONV, FC)
    assert f"in no layer, per iteration: 0.300 ms of {told}" in result.err


@pytest.mark.parametrize("name", ["gemm", "void cub::_CCCL_200802::DeviceReduce", "at::native::occupancy"])
def test_other_kernels_compute(calibrate, name):
    """50 us launched by fc's forward operator, after its 40."""
    result = calibrate(write(iteration(0, 0) + work(0, 120, 50, 1, name=name)), "model=Mine")
    assert times()[1] == (90, 100), result.err


def test_the_optimizer_and_all_after_the_backward_pass_are_in_no_layer(calibrate):
    """40 us of `step`, 10 of `zero_grad` before the forward pass, 7 of clipping in a range of the user's."""
    events = [
        *iteration(100, 0),
        event("user_annotation", "ProfilerStep#0", 0, 900),
        event("user_annotation", "Optimizer.zero_grad#SGD.zero_grad", 50, 20),
        event("user_annotation", "clip", 680, 15),
        event("user_annotation", "update", 700, 40),
        event("user_annotation", "Optimizer.step#SGD.step", 701, 30),
        *chain.from_iterable(work(0, *kernel) for kernel in ((55, 10), (685, 7), (710, 40))),
    ]
    result = calibrate(write([e for e in events if e["dur"] != 600]), "model=Mine")
    assert result.code == 0, result.err
    assert profile() == (CONV, FC)
    assert "0.050 ms of the optimizer, 0.007 ms of other kernels" in result.err


def test_kernels_of_several_streams_take_their_time_together(calibrate):
    """Conv computes from 10 to 110 us, fc to 150; 60 us more on another stream begin at 30, or at 90.

    The first are in conv's; the second end with fc's, so conv has 40 us more and fc nothing: 140 us in all.
    """
    for begins, more in ((30, 0), (90, 40)):
        other = work(0, 20, 60, 1, ts=begins, tid=9)
        assert calibrate(write(iteration(0, 0) + other), "model=Mine").code == 0
        conv, fc = times()
        assert conv == (100 + more, 300)
        assert fc == (40 - more, 100)


def test_a_module_has_the_kernels_that_are_in_no_module_inside_it(calibrate):
    """25 us of the block's own, such as a residual addition after fc; conv and fc keep theirs."""
    events = iteration(0, 0, "python_function")
    events += [event("python_function", "nn.Module: block", 0, 150), *work(0, 145, 25)]
    assert calibrate(write(events), "model=Mine").code == 0
    assert {layer.name: layer.forward_ns for layer in profile()} == {
        "block": 25_000,
        "conv": 100_000,
        "fc": 40_000,
    }


def test_recomputed_activations_count_once(calibrate):
    """A checkpoint's backward function has those of its layers inside it: 400 us, as without one."""
    engine = "autograd::engine::evaluate_function: CheckpointFunctionBackward"
    assert calibrate(write([*iteration(0, 0), event("cpu_op", engine, 145, 440, 2)]), "model=Mine").code == 0
    assert profile() == (CONV, FC)


def test_only_whole_iterations_count(calibrate):
    """Of three steps the last has no backward pass; an iteration before the first step is in no figure."""
    events = [*iteration(1e6, 0), *iteration(2e6, 2), event("user_annotation", "ProfilerStep#9", 3e6, 600)]
    events += [
        *work(3e6, 10, 500),
        *(e for e in iteration(0, 20) if not e["name"].startswith("ProfilerStep")),
    ]
    result = calibrate(write(events), "model=Mine")
    assert result.code == 0, result.err
    assert profile() == (CONV, FC)
    assert "left out, without a backward pass: ProfilerStep#9" in result.err


def test_layers_that_take_longer_than_the_iteration_are_refused(calibrate):
    """540 + 100 us of kernels in a step of 600 us; on the GPU, where the trace has that, it takes 660 us."""
    events = iteration(0, 0) + work(0, 20, 100)
    result = calibrate(write(events), "model=Mine")
    assert (result.code, len(result.err.splitlines())) == (2, 2)
    assert "found '0.640 ms in 0.600 ms'" in result.err
    events.append(event("gpu_user_annotation", "ProfilerStep#0", 10, 660))
    assert calibrate(write(events), "model=Mine").code == 0


@pytest.mark.parametrize(
    ("gpu", "told"),
    [
        ([], "no event of a GPU"),
        (work(0, 20, 9, cat="gpu_memcpy", name="Memcpy HtoD"), "1 gpu_memcpy"),
        (work(0, 20, 9, name="ncclDevKernel_AllReduce"), "1 kernel, such as ncclDevKernel_AllReduce"),
        (work(0, 20, 9)[1:], "1 kernel, such as gemm"),  # without its launch
    ],
)
def test_times_of_a_cpu_are_refused(calibrate, gpu, told):
    """A profile is of a GPU; the message has the events of one that were found."""
    result = calibrate(write([*iteration(0, 0, kernels=()), *gpu]), "model=Mine")
    assert (result.code, len(result.err.splitlines())) == (2, 2)
    assert told in result.err
    assert "ProfilerActivity.CUDA" in result.err


def test_iterations_are_those_of_one_process_and_of_the_trace(calibrate):
    """Traces of two ranks in one file, and iterations=3 for a trace with two steps."""
    result = calibrate(write(iteration(0, 0) + iteration(1000, 0)), "model=Mine")
    assert (result.code, "an iteration twice" in result.err) == (2, True)
    result = calibrate(write(iteration(0, 0) + iteration(1000, 2)), "model=Mine", "iterations=3")
    assert (result.code, "the trace has 2 ProfilerStep#" in result.err) == (2, True)


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
    operators = [event for event in iteration(0, 0) if event["name"] not in ("conv", "fc")]
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


def test_the_gpu_that_a_trace_names_sets_the_speed(calibrate):
    """An A100 has speed 0.6: 140 + 400 us are 324 us on an H100; machine.speed=1 counts more."""
    for option, scale in ((), 0.6), (("machine.speed=1",), 1):
        write(iteration(0, 0))
        content = json.loads(Path("run.json").read_text())
        content["deviceProperties"] = [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}]
        Path("run.json").write_text(json.dumps(content))
        result = calibrate("trace=run.json", "model=Mine", *option)
        assert result.code == 0, result.err
        assert read_calibrated(Path("calibrated.yaml"))("Mine").compute_ns == round(540_000 * scale)
    assert "GPU of speed 1" in result.err


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


WORKLOAD = """DATA
2
conv1\t-1\t5000.9\tNONE\t0\t7000\tNONE\t0\t6000\tALLREDUCE\t38000\t10
fc\t-1\t9000\tNONE\t0\t8000\tNONE\t0\t9000\tALLREDUCE\t8192000\t20
14000
"""


def test_a_text_workload_of_astra_sim_becomes_a_profile(calibrate):
    """Forward 5 + 9 us, backward 6 + 8 + 9 (the first input gradient is never computed); delays by layer."""
    Path("w.txt").write_text(WORKLOAD)
    result = calibrate("layers=w.txt", "model=Mine")
    assert result.code == 0, result.err
    assert profile() == (
        Layer("conv1", 5000, 7000, 6000, 38_000, 10),
        Layer("fc", 9000, 8000, 9000, 8_192_000, 20),
    )
    assert result.rows["Mine"] == ["2", "0.014", "0.023", "8.230"]
    assert read_calibrated(Path("calibrated.yaml"))("Mine").compute_ns == 37_000


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "DATA",
            "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8",
            "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
        ),
        ("DATA", "MODEL", "found 'MODEL'"),
        ("DATA", "HYBRID_DATA_MODEL", "HYBRID_DATA_MODEL"),
        ("\n2\n", "\n3\n", "w.txt, line 2: not as many layers"),
        ("\n2\n", "\n1\n", "w.txt, line 2: not as many layers"),
        ("5000.9\tNONE", "5000.9\tALLGATHER", "w.txt, line 3: a collective of activations"),
        ("ALLREDUCE\t38000", "ALLTOALL\t38000", "found 'ALLTOALL'"),
        ("5000.9", "nan", "found 'nan'"),
        ("\t20\n", "\n", "w.txt, line 4: a layer of 11 cells"),
    ],
)
def test_a_text_workload_that_is_no_profile_is_refused(calibrate, old, new, told):
    """Other parallelisms by name, lines with their number."""
    Path("w.txt").write_text(WORKLOAD.replace(old, new))
    result = calibrate("layers=w.txt", "model=Mine")
    assert (result.code, len(result.err.splitlines())) == (2, 2)
    assert told in result.err


def test_a_text_workload_as_profiles_is_named(called, tmp_path, monkeypatch):
    """`network.profiles` takes the file that artist-calibrate makes of it."""
    monkeypatch.chdir(tmp_path)
    Path("w.txt").write_text(WORKLOAD)
    code, _, err = called(artist.pricing.command.main, "network.profiles=w.txt", "model=VGG11", "shape=8")
    assert (code, len(err.splitlines())) == (2, 2)
    assert "artist-calibrate layers=w.txt model=NAME" in err
