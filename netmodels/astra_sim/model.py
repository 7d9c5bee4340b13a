"""ASTRA-sim as a network model."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil, prod
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from netmodels.astra_sim import inputs, ns3, version1
from netmodels.astra_sim.asked import as_asked, in_one_dimension, one_dimension
from netmodels.astra_sim.locate import NAMES, Backend, locate
from netmodels.astra_sim.meaning import check_meaning
from netmodels.astra_sim.outputs import NpuTime, UnreadableError, read_version1, read_version2
from netmodels.astra_sim.process import Outcome, ProgramError, read_output, run
from netmodels.astra_sim.scratch import Scratch
from netmodels.collectives.algorithms import link_bandwidth_bytes_per_ns
from netmodels.collectives.dimensions import Level, View, tiers_of, view_of
from netmodels.collectives.iteration_time import IterationTime
from netmodels.collectives.rank_program import (
    RankNetwork,
    RankProgram,
    RankTime,
    check_rings,
    rank_times,
    step_time,
)
from netmodels.fabric.fabric import Fabric
from netmodels.fabric.shape import Shape
from netmodels.fabric.system import SystemSettings
from netmodels.inputs.errors import InputError
from netmodels.models.analytical import AnalyticalModel, PortBound, iteration_in
from netmodels.profiles.buckets import bucketed
from netmodels.profiles.layers import Profile, Program, refuse_program

_log = logging.getLogger(__name__)
_MOST_RUNS = 5  # of a question with groups
_HTSIM = "ASTRA-sim's htsim back end was not usable when tried: 64 KiB took 260 ms of simulated time"


class AstraSimParameters(BaseModel):
    """Parameters of `AstraSim`.

    Attributes
    ----------
    binary
        The program: its path, or its name if it is on the PATH.
    backend
        Its back end; `auto` detects it.
    program_files
        Other files of the program, such as those that a wrapper starts: other content is another program.
    timeout_s
        Longest run.
    scratch
        Parent of the folders of runs; None for the system's folder for temporary files.
    keep
        True to keep them; folders of the first failed runs are always kept.
    ns3
        Settings of ns-3's config.txt instead of the defaults, by name.
    pipelined
        Chunks that the congestion-aware back end cuts a collective into, all in flight, if
        `system.chunks` is 1. It stores a whole message at a switch before it forwards it, so one
        chunk counts every byte twice; two overlap (8 GPUs, 16 MiB at 50 GB/s: 1,189 and 622 us,
        ns-3 697). With more, the chunks' latencies overlap as well, and small collectives are too
        fast (1 MiB: 88, 52 and with four 38 us, ns-3 72).
    arguments
        Additional command-line arguments, as for htsim: `["--htsim_opts", "-topo", FILE]`; absolute paths.
    ns3_binary
        ASTRA-sim's ns-3 program, or a wrapper around it: asked about placements that `binary` cannot express.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    binary: Path | None = None
    backend: Literal["auto"] | Backend = "auto"
    program_files: tuple[Path, ...] = ()
    timeout_s: float = Field(600, gt=0, le=1e6)
    scratch: Path | None = None
    keep: bool = False
    ns3: dict[str, str | int | float] | None = None
    pipelined: int = Field(2, ge=1, le=1024)
    arguments: tuple[str, ...] = ()
    ns3_binary: Path | None = None


class AstraSim:
    """Network model by the user's ASTRA-sim program.

    For each question it writes the workload, system and network of exactly that placement into a fresh
    folder, runs the program there, and reads the end of the last NPU. Placements that the back ends can
    express:

    - unaware, version1: placements with identical machines and identical racks.
    - aware: those of one dimension (GPUs of one machine, or one GPU of each machine of a rack).
    - ns3: all; an irregular placement is one logical ring over the true hosts and switches.

    For any other placement `ns3_binary` is asked. Without it the program is asked about the nearest one that
    it can express: averages rounded up, or for the congestion-aware back end one dimension with the widest
    tier's links. All collectives of the analytical model's answer for the placement itself are then
    stretched by the ratio of the communication times of the program and the analytical model there. (1.0
    does not report its communication time: there the analytical answer is kept, which agrees within 0.3 %.)
    `carries` identifies these placements.

    Parameters
    ----------
    parameters
        Fields of `AstraSimParameters`.

    Attributes
    ----------
    program
        The program.
    last
        Times of each NPU in the last run.

    Raises
    ------
    InputError
        If the program is not there, or has another back end than given.
    """

    def __init__(self, **parameters: object) -> None:
        self.parameters = p = AstraSimParameters.model_validate(parameters)
        self.program = locate(p.binary, p.backend, p.program_files)
        self._ns3: AstraSim | None = None
        if p.ns3_binary is not None and self.program.backend != "ns3":
            of_ns3 = {"binary": p.ns3_binary, "backend": "ns3", "ns3_binary": None, "arguments": ()}
            self._ns3 = AstraSim(**p.model_dump() | of_ns3)
        elif p.ns3:
            ns3.check_settings(p.ns3, self.program.backend)
        more = () if self._ns3 is None else (self._ns3.program.path,)
        self.input_files = (self.program.path, *p.program_files, *more)
        self.last: tuple[NpuTime, ...] = ()
        self._known: dict[tuple[Profile, tuple[Level, ...], SystemSettings], IterationTime] = {}
        self._scratch = Scratch(p.scratch, keep=p.keep)

    @property
    def version(self) -> str:
        """Back end and digest of the program, and the settings that change its answers."""
        p = self.parameters
        if self._ns3 is not None:
            settings = [self._ns3.version]
        else:
            settings = [f"{name}={value}" for name, value in sorted((p.ns3 or {}).items())]
        if self.program.backend == "aware":
            settings.append(f"pipelined={p.pipelined}")
        return " ".join([self.program.backend, self.program.digest, *p.arguments, *settings])

    def iteration(
        self, profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> IterationTime:
        """Return the time of one iteration; see `netmodels.api.NetworkModel`.

        Raises
        ------
        ProgramError
            If the program gives no answer.
        InputError
            If it cannot run the settings or the profile.
        """
        if profile.program is not None:
            return self._of_program(profile, profile.program, shape, fabric, system)
        if self._ns3 is not None and self._carries(shape, fabric, system):
            return self._ns3.iteration(profile, shape, fabric, system)
        self._check(profile, system)
        profile = bucketed(profile, system.bucket_bytes)
        answers = []
        for tiers in tiers_of(shape, fabric):
            view = view_of(shape, tiers)
            if not view.levels or not any(layer.gradient_bytes for layer in profile.layers):
                answers.append(IterationTime(profile.compute_ns, 0, 0))
            elif self.program.backend == "ns3":
                files = ns3.files(profile, shape, tiers, view, system, self.parameters.ns3 or {})
                answers.append(self._asked(profile, files, ns3.ARGUMENTS, view.gpus))
            elif len(view.levels) > 1 and in_one_dimension(shape, system):
                levels = (one_dimension(shape, tiers, view, system),)
                answers.append(self.on_levels(profile, levels, as_asked(shape, system)))
            else:
                answers.append(self._in_dimensions(profile, view, as_asked(shape, system)))
        return max(answers, key=lambda answer: (answer.total_ns, answer.comm_ns))

    def carries(
        self,
        shape: Shape,
        fabric: Fabric,
        system: SystemSettings | None = None,
        profile: Profile | None = None,
    ) -> bool:
        """Return whether the answer for a placement is that of another one, or made from it.

        Parameters
        ----------
        shape, fabric, system, profile
            As for `iteration`; without `system` the fabric's own settings, without `profile` any of layers.
        """
        system = system or fabric.system
        if profile is not None and profile.program is not None:
            programs = self._programs(profile, profile.program, shape, fabric, system)
            return not all(self._runs(program, network) for program, network in programs)
        return self._ns3 is None and self._carries(shape, fabric, system)

    def backend_of(self, shape: Shape, fabric: Fabric, system: SystemSettings) -> Backend:
        """Return the back end that is asked about a placement."""
        asks_ns3 = self._ns3 is not None and self._carries(shape, fabric, system)
        return "ns3" if asks_ns3 else self.program.backend

    def above_port(
        self, profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> PortBound | None:
        """Return the times of collectives faster than their ports; only of back ends without congestion.

        By the closed forms that their answers equal (`AnalyticalModel.above_port`).

        Parameters
        ----------
        profile, shape, fabric, system
            As for `iteration`.
        """
        if self.backend_of(shape, fabric, system) not in ("unaware", "version1"):
            return None
        return AnalyticalModel().above_port(profile, shape, fabric, system)

    def _carries(self, shape: Shape, fabric: Fabric, system: SystemSettings) -> bool:
        """Return whether the program cannot be asked about a placement itself."""
        if self.program.backend == "ns3":
            return False
        one = in_one_dimension(shape, system)
        views = [view_of(shape, tiers) for tiers in tiers_of(shape, fabric)]
        return any((one and len(view.levels) > 1) or not self._expresses(view) for view in views)

    def _expresses(self, view: View) -> bool:
        """Return whether the program can be asked about a placement itself: `aware` knows one dimension."""
        return view.regular and (self.program.backend != "aware" or len(view.levels) < 2)

    def on_levels(self, profile: Profile, levels: tuple[Level, ...], system: SystemSettings) -> IterationTime:
        """Return the time of one iteration on explicit dimensions, innermost first; not for ns-3.

        Each question is asked once: many irregular placements have the same neighbour.
        """
        question = (profile, levels, system)
        if question not in self._known:
            self._known[question] = self._run_on(*question)
        return self._known[question]

    def _check(self, profile: Profile, system: SystemSettings) -> None:
        """Raise InputError for settings and profiles that the program cannot express."""
        check_meaning(system, self.program.backend)
        if self.program.backend not in ("unaware", "aware"):
            refuse_program(profile, NAMES[self.program.backend])
        if profile.launch_ns:
            raise InputError(
                "ASTRA-sim knows no start-up cost of collectives",
                where=f"network.profiles, {profile.name}",
                found=profile.launch_ns,
                allowed="profiles calibrated by scale_compute",
            )
        if self.program.backend != "version1" and any(layer.update_ns for layer in profile.layers):
            raise InputError(
                "ASTRA-sim 2.x knows no update delays",
                where=f"profile {profile.name}",
                found=max(layer.update_ns for layer in profile.layers),
                allowed="0, or a binary of ASTRA-sim 1.0",
            )

    # --- plans

    def _of_program(
        self, profile: Profile, program: Program, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> IterationTime:
        """Ask about each rank's trace, or follow the ranks where the program's network lacks a message."""
        check_rings(system)
        self._check(profile, system)
        answers = []
        for ranks, network in self._programs(profile, program, shape, fabric, system):
            if self._runs(ranks, network):
                levels, asked = self._as_run(network.levels, system)
                inputs.check_system(profile, asked, levels)
                files = inputs.program_files(ranks, levels, asked)
                times = self._times(files, inputs.PROGRAM_ARGUMENTS, len(ranks.ranks))
                answers.append(step_time(profile, [RankTime(time.total_ns, time.comm_ns) for time in times]))
            else:
                answers.append(step_time(profile, rank_times(ranks, network)))
        return max(answers, key=lambda answer: (answer.total_ns, answer.comm_ns))

    def _programs(
        self, profile: Profile, program: Program, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> Iterator[tuple[RankProgram, RankNetwork]]:
        """Yield the programs of the ranks, as each machine type of a placement sees its network."""
        for tiers in tiers_of(shape, fabric):
            network = RankNetwork(shape, tiers, system)
            yield program.ranks(shape, network, profile.factor), network

    def _runs(self, ranks: RankProgram, network: RankNetwork) -> bool:
        """Return whether the program can run these ranks.

        A message between NPUs that differ in several dimensions takes the innermost one's links there.
        """
        enough = bool(network.levels) and (self.program.backend != "aware" or len(network.levels) == 1)
        return enough and network.regular and network.is_direct(ranks)

    # --- back ends whose networks are dimensions

    def _in_dimensions(self, profile: Profile, view: View, system: SystemSettings) -> IterationTime:
        """Ask about the placement, or carry the answer over from its neighbour."""
        if self._expresses(view):
            return self.on_levels(profile, view.levels, system)
        if self.program.backend == "version1":
            version1.check_system(profile, system, view.levels)
            return iteration_in(profile, view, system)
        closest = self._closest(view)
        asked, ours = self.on_levels(profile, closest, system), iteration_in(profile, View(closest), system)
        answer = iteration_in(profile, view, system, stretch=asked.comm_ns / ours.comm_ns)
        return IterationTime(answer.compute_ns, answer.comm_ns, answer.exposed_ns)

    def _closest(self, view: View) -> tuple[Level, ...]:
        """Return the closest placement that the back end can express."""
        levels = tuple(replace(level, members=ceil(level.members)) for level in view.levels)
        if self.program.backend != "aware":
            return levels
        return (replace(levels[-1], members=prod(level.members for level in levels)),)

    def _run_on(self, profile: Profile, levels: tuple[Level, ...], system: SystemSettings) -> IterationTime:
        npus = int(prod(level.members for level in levels))
        if self.program.backend == "version1":
            version1.check_system(profile, system, levels)
            return self._asked(profile, version1.files(profile, levels, system), version1.ARGUMENTS, npus)
        levels, system = self._as_run(levels, system)
        inputs.check_system(profile, system, levels)
        files = inputs.analytical_files(profile, levels, system)
        return self._asked(profile, files, inputs.ANALYTICAL_ARGUMENTS, npus)

    def _as_run(
        self, levels: tuple[Level, ...], system: SystemSettings
    ) -> tuple[tuple[Level, ...], SystemSettings]:
        """Return dimensions and settings in the back end's terms."""
        if self.program.backend != "aware":
            return levels, system
        chunks, levels = self.parameters.pipelined, tuple(map(_without_double_link, levels))
        if system.chunks == 1:
            system = replace(system, chunks=chunks, chunks_in_flight=chunks)
        return levels, system

    # --- one run of the program

    def _asked(
        self, profile: Profile, files: Mapping[str, bytes], arguments: Sequence[str], npus: int
    ) -> IterationTime:
        times = self._times(files, arguments, npus, profile.compute_ns)
        last = max(times, key=lambda time: (time.total_ns, time.comm_ns))
        exposed = last.total_ns - profile.compute_ns
        return IterationTime(profile.compute_ns, max(last.comm_ns, exposed), exposed)

    def _times(
        self, files: Mapping[str, bytes], arguments: Sequence[str], npus: int, compute_ns: int = 0
    ) -> tuple[NpuTime, ...]:
        """Return the times of all NPUs, of which the last takes no less than `compute_ns`.

        In one dimension the program frees the algorithm of a collective that two groups have twice when it
        ends (CollectivePlan.cc), and may crash: with groups the output alone counts, or another run.
        """
        if self.program.backend == "htsim" and not self.last:
            _log.warning(_HTSIM, extra={"note": True})
        command = [str(self.program.path), *arguments, *self.parameters.arguments]
        grouped = "groups.json" in files
        for tries in reversed(range(_MOST_RUNS if grouped else 1)):
            with self._scratch.filled(files, npus) as folder:
                outcome = run(command, folder, self.parameters.timeout_s, files=npus)
                if outcome.status and not grouped:
                    raise ProgramError("it failed", outcome)
                try:
                    self.last = self._read(outcome, npus)
                except UnreadableError as problem:
                    if not (outcome.status and tries):
                        what = "it failed" if outcome.status else f"it {problem}"
                        raise ProgramError(what, outcome) from None
                    continue
                total_ns = max(time.total_ns for time in self.last)
                if total_ns < compute_ns:
                    raise ProgramError(f"it reports {total_ns} ns, {compute_ns} ns of it compute", outcome)
                return self.last
        raise AssertionError

    def _read(self, outcome: Outcome, npus: int) -> tuple[NpuTime, ...]:
        if self.program.backend != "version1":
            return read_version2(outcome.stdout, npus)
        return (read_version1(read_output(outcome.folder / version1.ANSWER)),)


def _without_double_link(level: Level) -> Level:
    """Return a ring of two neighbours as a mesh: the congestion-aware back end stops at their second link."""
    if level.dimension.kind != "ring" or level.members != 2:
        return level
    bandwidth = link_bandwidth_bytes_per_ns(level.dimension, level.members)
    changed = replace(level.dimension, kind="fully_connected", bandwidth_bytes_per_ns=bandwidth, links="one")
    return replace(level, dimension=changed)
