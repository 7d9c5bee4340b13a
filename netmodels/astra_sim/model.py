"""ASTRA-sim as a network model."""

import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import ceil, prod
from pathlib import Path

from netmodels.algorithms import link_bandwidth_bytes_per_ns
from netmodels.analytical import iteration_in
from netmodels.api import IterationTime
from netmodels.astra_sim import inputs, ns3, version1
from netmodels.astra_sim.inputs import InexpressibleError
from netmodels.astra_sim.locate import locate
from netmodels.astra_sim.outputs import NpuTime, UnreadableError, read_version1, read_version2
from netmodels.astra_sim.process import Outcome, ProgramError, run
from netmodels.errors import InputError
from netmodels.fabric import Fabric
from netmodels.layers import Profile
from netmodels.levels import Level, View, views_of
from netmodels.shape import Shape
from netmodels.system import SystemSettings

_log = logging.getLogger(__name__)
_HTSIM = "ASTRA-sim's htsim back end was not usable when tried: 64 KiB took 260 ms of simulated time"


class AstraSim:
    """Asks the user's ASTRA-sim program how long an iteration takes.

    For each question it writes the workload, system and network of just that placement into a fresh folder,
    runs the program there, and reads when the last NPU was done. What the back ends can say:

    - unaware, version1: placements whose machines are alike and whose racks are alike.
    - aware: those of one dimension (GPUs of one machine, or one GPU of each machine of a rack).
    - ns3: all; an irregular placement is one logical ring over the true hosts and switches.

    Of any other placement the program is asked about the nearest one that it can express: averages
    rounded up, or for the congestion-aware back end one dimension with the widest tier's links. The
    analytical model's answer for the placement itself is then multiplied with what the program's answer
    is to the analytical one for its neighbour. So an irregular placement costs what the analytical model
    says, as far as the program agrees with it; `carried` counts these questions.

    Parameters
    ----------
    binary
        Path of the program.
    backend
        Which it is, or `auto`.
    timeout_s
        Longest run.
    scratch
        Where folders of runs are made; None for the system's place for temporary files.
    keep
        Whether to leave them there; those of failed runs always stay.
    ns3
        Settings of ns-3's config.txt instead of ours, by name.
    arguments
        More of the command line, as for htsim: `["--htsim_opts", "-topo", FILE]`.

    Attributes
    ----------
    program
        What was found.
    carried
        Questions whose answer was carried over from a neighbour.
    last
        Times of each NPU in the last run.

    Raises
    ------
    InputError
        If the program is not there or a parameter is not allowed.
    """

    def __init__(
        self,
        binary: str | None = None,
        backend: str = "auto",
        *,
        timeout_s: float = 600,
        scratch: str | None = None,
        keep: bool = False,
        ns3: Mapping[str, object] | None = None,
        arguments: Sequence[str] = (),
    ) -> None:
        if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float) or not 0 < timeout_s <= 1e6:
            raise InputError(
                "wrong timeout", where="network.model.timeout_s", found=timeout_s, allowed="seconds above 0"
            )
        self.program = locate(binary, backend)
        if self.program.backend == "htsim":
            _log.warning(_HTSIM, extra={"note": True})
        self.carried = 0
        self.last: tuple[NpuTime, ...] = ()
        self._known: dict[tuple[Profile, tuple[Level, ...], SystemSettings], IterationTime] = {}
        self._timeout_s = float(timeout_s)
        self._scratch = _folder(scratch)
        self._keep = keep
        self._ns3 = {str(name): str(value) for name, value in (ns3 or {}).items()}
        self._arguments = tuple(map(str, arguments))

    @property
    def version(self) -> str:
        """Back end and digest of the program, and the settings that change its answers."""
        words = [self.program.backend, self.program.digest, *self._arguments]
        return " ".join([*words, *(f"{name}={value}" for name, value in sorted(self._ns3.items()))])

    def iteration(
        self, profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> IterationTime:
        """Return the time of one iteration; see `netmodels.api.NetworkModel`.

        Raises
        ------
        ProgramError
            If the program gives no answer.
        InputError
            If it cannot run the settings.
        """
        if profile.launch_ns:
            raise InputError(
                "ASTRA-sim knows no start-up cost of collectives",
                where=f"network.profiles, {profile.name}",
                found=profile.launch_ns,
                allowed="profiles calibrated by scale_compute",
            )
        types = sorted({name for rack in shape for name, _ in rack})
        tiers = dict.fromkeys(fabric.tiers(name) for name in types) or {fabric.tiers(): None}
        answers = []
        for each, view in zip(tiers, views_of(shape, fabric), strict=False):
            if not view.levels or not any(layer.gradient_bytes for layer in profile.layers):
                answers.append(IterationTime(profile.compute_ns, 0, 0))
            elif self.program.backend == "ns3":
                files = ns3.files(profile, shape, each, view, system, self._ns3)
                answers.append(self._asked(profile, files, ns3.ARGUMENTS, view.gpus))
            else:
                answers.append(self._in_dimensions(profile, view, system))
        return max(answers, key=lambda answer: (answer.total_ns, answer.comm_ns))

    def _in_dimensions(self, profile: Profile, view: View, system: SystemSettings) -> IterationTime:
        """Ask a back end whose networks are dimensions; carry the answer over from a neighbour if need be."""
        try:
            return self.on_levels(profile, self._expressed(view), system)
        except InexpressibleError:
            self.carried += 1
        near = self._nearest(view)
        if not near:
            return iteration_in(profile, view, system)
        asked = self.on_levels(profile, near, system)
        return _carried(iteration_in(profile, view, system), asked, iteration_in(profile, View(near), system))

    def _expressed(self, view: View) -> tuple[Level, ...]:
        levels = inputs.whole(view)
        if self.program.backend == "aware" and len(levels) > 1:
            raise InexpressibleError("the congestion-aware back end knows one dimension")
        return levels

    def _nearest(self, view: View) -> tuple[Level, ...]:
        """Return the nearest placement that the back end can express."""
        levels = tuple(replace(level, members=ceil(level.members)) for level in view.levels)
        if self.program.backend != "aware":
            return levels
        return (replace(levels[-1], members=prod(level.members for level in levels)),)

    def on_levels(self, profile: Profile, levels: tuple[Level, ...], system: SystemSettings) -> IterationTime:
        """Return the time of one iteration on explicit dimensions, innermost first; not for ns-3.

        Each question is asked once: many irregular placements have the same neighbour.
        """
        question = (profile, levels, system)
        if question not in self._known:
            self._known[question] = self._run_on(*question)
        return self._known[question]

    def _run_on(self, profile: Profile, levels: tuple[Level, ...], system: SystemSettings) -> IterationTime:
        npus = int(prod(level.members for level in levels))
        if self.program.backend == "version1":
            version1.check_system(system, levels)
            return self._asked(profile, version1.files(profile, levels, system), version1.ARGUMENTS, npus)
        inputs.check_system(system, levels)
        if self.program.backend == "aware":
            levels = tuple(map(_without_double_link, levels))
        files = inputs.analytical_files(profile, levels, system)
        return self._asked(profile, files, inputs.ANALYTICAL_ARGUMENTS, npus)

    # --- one run of the program

    def _asked(
        self, profile: Profile, files: Mapping[str, bytes], arguments: Sequence[str], npus: int
    ) -> IterationTime:
        folder = self._written(files, npus)
        command = [str(self.program.path), *arguments, *self._arguments]
        outcome = run(command, folder, self._timeout_s, files=npus)
        if outcome.status:
            raise ProgramError("it failed", outcome)
        try:
            times = self._read(outcome, npus)
        except UnreadableError as problem:
            raise ProgramError(f"it {problem}", outcome) from None
        answer = _iteration_time(profile, times, outcome)
        self.last = times
        if not self._keep:
            shutil.rmtree(folder, ignore_errors=True)
        return answer

    def _written(self, files: Mapping[str, bytes], npus: int) -> Path:
        """Write the files of a question into a fresh folder; every NPU's trace is the same file."""
        folder = None
        try:
            folder = Path(tempfile.mkdtemp(prefix="astra-sim-", dir=self._scratch))
            for name, content in files.items():
                (folder / name).write_bytes(content)
            (folder / "out").mkdir()
            if inputs.TRACE in files:
                for npu in range(npus):
                    os.link(folder / inputs.TRACE, folder / f"iteration.{npu}.et")
        except OSError as problem:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            raise InputError(
                "cannot write the input of the network program",
                where="network.model.scratch",
                found=str(problem),
                allowed="a folder on a disk with room",
            ) from None
        return folder

    def _read(self, outcome: Outcome, npus: int) -> tuple[NpuTime, ...]:
        if self.program.backend != "version1":
            return read_version2(outcome.stdout, npus)
        text = ""
        with suppress(OSError, UnicodeDecodeError):
            text = (outcome.folder / version1.ANSWER).read_text(encoding="utf-8")
        return (read_version1(text),)


def _iteration_time(profile: Profile, times: Sequence[NpuTime], outcome: Outcome) -> IterationTime:
    last = max(times, key=lambda time: (time.total_ns, time.comm_ns))
    exposed = last.total_ns - profile.compute_ns
    if exposed < 0:
        raise ProgramError(f"it says {last.total_ns} ns of {profile.compute_ns} ns of compute", outcome)
    return IterationTime(profile.compute_ns, max(last.comm_ns, exposed), exposed)


def _carried(ours: IterationTime, asked: IterationTime, near: IterationTime) -> IterationTime:
    """Return our answer for a placement, corrected by what the program says of its neighbour."""

    def corrected(part: Callable[[IterationTime], int]) -> int:
        if not part(near):
            return part(ours) + part(asked)
        return round(part(ours) * part(asked) / part(near))

    exposed = corrected(lambda answer: answer.exposed_ns)
    comm = corrected(lambda answer: answer.comm_ns)
    return IterationTime(ours.compute_ns, max(comm, exposed), exposed)


def _without_double_link(level: Level) -> Level:
    """Return two neighbours on a ring as a mesh: the congestion-aware back end stops at their second link."""
    if level.dimension.kind != "ring" or level.members != 2:
        return level
    bandwidth = link_bandwidth_bytes_per_ns(level.dimension, level.members)
    changed = replace(level.dimension, kind="fully_connected", bandwidth_bytes_per_ns=bandwidth, links="one")
    return replace(level, dimension=changed)


def _folder(scratch: str | None) -> Path | None:
    if scratch is None:
        return None
    folder = Path(scratch).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(
            f"cannot make the folder ({problem.strerror})", where="network.model.scratch", found=scratch
        ) from None
    return folder.absolute()
