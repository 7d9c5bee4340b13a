"""The four commands in this process, with odd overrides of the keys that they have."""

import contextlib
import io
import json
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import artist.app.cli
import artist.calibrating.command
import artist.describe.command
import artist.pricing.command
from artist.data import data_path
from tests.fuzz.mutations import texts
from tests.fuzz.oracle import check_ending, fuzzed, guarded
from tests.fuzz.test_configurations import DELAYS, EVENTS, composed

COMMANDS: dict[str, tuple[Callable[[list[str]], int], str, tuple[str, ...]]] = {
    "artist": (artist.app.cli.main, "config", ("workload=csv", "workload.path=tiny.csv", "policy=fifo")),
    "artist-network": (artist.pricing.command.main, "price", ("model=VGG11",)),
    "artist-calibrate": (artist.calibrating.command.main, "calibrate", ("measured=measured.csv",)),
    "artist-trace": (artist.describe.command.main, "describe", ("workload=csv", "workload.path=tiny.csv")),
}
_NOT = (
    "_target_",
    "_convert_",
    "topology.source",
    "csv",
    "plot",
    "draw",
    "output.dir",
    "network.cache",
    "out",
)
_ODD = (
    *(
        "-1",
        "0",
        "1",
        "0.5",
        "7",
        "1e-9",
        "1e6",
        "1e12",
        "1e300",
        "-1e300",
        "inf",
        "nan",
        "9" * 30,
        "9" * 5000,
    ),
    *(
        "null",
        "true",
        "''",
        "x",
        "[]",
        "{}",
        "[1]",
        "[1,2]",
        "[2,1]",
        "{a:1}",
        "[[[]]]",
        "???",
        "${nope}",
        "${seed}",
    ),
    *(
        "1,2",
        "range(0,3)",
        "choice(1,x)",
        "glob(*)",
        "'a b'",
        "\"x'",
        "a=b",
        "[",
        "}",
        "ü",
        "~nobody_is_so/x",
        "..",
    ),
    *(
        "tiny.csv",
        "events.csv",
        "delays.csv",
        "measured.csv",
        "calibrated.yaml",
        "VGG11",
        "all",
        "8+8",
        "1000000x1",
        "5+3|x",
        "dgx_h100",
        "2020-01-01",
    ),
)


@pytest.fixture(scope="module", autouse=True)
def process(folder: Path) -> Iterator[None]:
    """Write small files; undo what a command does to its process."""
    (folder / "tiny.csv").write_bytes(data_path("traces", "tiny.csv").read_bytes())
    (folder / "events.csv").write_text(EVENTS)
    (folder / "delays.csv").write_text(DELAYS)
    (folder / "measured.csv").write_text("model,gpus,overhead\nVGG11,4,0.1\n")
    (folder / "calibrated.yaml").write_text("models: {VGG11: {compute_scale: 0.5, launch_ns: 100}}\n")
    path = list(sys.path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HYDRA_FULL_ERROR", "0")
        yield
    sys.path[:] = path


def keys(at: Any, before: str = "") -> Iterator[str]:
    """Yield the dotted names of all fields of a configuration."""
    for key, value in at.items():
        name = f"{before}{key}"
        if key not in _NOT and name not in _NOT:
            yield name
            if isinstance(value, dict):
                yield from keys(value, f"{name}.")


@st.composite
def overrides(draw: st.DrawFn, known: list[str]) -> list[str]:
    """Return some arguments of a command line."""
    sign = st.sampled_from(("", "", "", "", "", "", "+", "++", "~"))
    key = st.one_of(
        st.sampled_from(known), st.sampled_from(known), st.sampled_from(("x", "seed.x", "", "hydra", "-"))
    )
    value = st.one_of(
        st.sampled_from(_ODD), st.sampled_from(_ODD), texts.filter(lambda text: "\0" not in text)
    )
    one = st.builds(lambda sign, key, value: f"{sign}{key}={value}", sign, key, value)
    return draw(st.lists(one, min_size=1, max_size=2))


def ending(main: Callable[[list[str]], int], arguments: list[str]) -> tuple[int, str, str]:
    """Run a command; return its exit code and what it printed. Warnings are errors here too."""
    out, err = io.StringIO(), io.StringIO()
    with (
        guarded(),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        code = main(arguments)
    shutil.rmtree("runs", ignore_errors=True)
    return code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("name", COMMANDS)
@fuzzed(7)
@given(data=st.data())
def test_a_command_ends_well_or_in_two_lines(name: str, data: st.DataObject) -> None:
    """Exit code 0, or 2 with two lines on stderr and nothing on stdout; never a traceback."""
    main, kind, good = COMMANDS[name]
    known = list(keys(json.loads(composed(kind, name, *good))))
    arguments = [*good, *data.draw(overrides(known))]
    if any(word in argument for argument in arguments for word in ("hydra", "--")):
        return
    check_ending(*ending(main, arguments))
