"""The public door: everything that authors of policies and parts, and readers of runs, import.

A name is imported when it is first asked for, so `import artist.api` costs nothing. Each name has its own
docstring; the pages explain their use: docs/your_policy.md, docs/performance.md,
docs/traces.md, docs/library.md. Networks are in `netmodels.api`.

Runs
    `simulate` makes a run, `sweep` all combinations; `read_run` and `read_sweep` read finished ones as a
    `Run` or a `Sweep`. `compare` groups runs into rows of replicates, and `estimate` gives the mean and the
    95 % interval of one of `METRICS` over their summaries. `data_path` is the path of a shipped preset,
    topology or trace. In a `SchedulingEnv` an agent learns to schedule.
Policies
    A `Policy` gets a `ClusterView`, with the `JobColumns` of unfinished jobs, and returns a `Plan`, made by a
    `PlanBuilder`: an `Allocation` of a `Slice` per machine for each job (`JobSpec`, `Demand`, `Stages`), in a
    `Group` if jobs share GPUs. `view.news` has an `Arrival`, a `Finish`, a `Stop` or another `Event`
    (`Start`, `Change`, `MachineEvent`, `Wake`); `view.signals` a `Signal` by name; `view.performance` is a
    `BeliefPerformance`, which also gives the `LinkUse` of jobs.
    Times are whole nanoseconds: `seconds_to_ns`, `ns_to_seconds`. Chance comes from a `child_generator`.
Cluster
    `Free` has the free GPUs, CPUs and memory of a `Cluster` of `Machine`s. Sets of machines are bits of an
    integer: `ALL`, `set_of`, `members_of`, `first_of`. `tier_of` gives the widest tier that an allocation
    crosses, in `TIERS`, and `racks_of` its racks.
Parts of policies
    `placer_of` a placement policy and a CPU and memory allocation is a `Placer`; `AnyChooser`, `AnyFill`,
    `AnyOrder` and `AnyPolicy` are the types of such fields of a policy. `MachineChooser`, `Fill` and `Order`
    are the bases of your own; `chooser_of`, `fill_of` and `order_of` take names and parts alike,
    `adopt_knowledge` gives a policy the knowledge that its part declares. `run_first` runs the first jobs of
    an order, preempting others; `ranking` sorts keys stably; `start_cpu_jobs` starts CPU-only jobs.
CPUs and memory
    `DivisionRule` and `HandedOut` for `policy=cpu_tuned`, `Mechanism` for `policy=synergy`;
    `Tune`, `Greedy`, `Proportional` and `Opt` are the shipped ones, which pack each `Need` into a `Room`.
CODA
    `CoreAllocator` and `CpuSearch`; `eliminator_of`, `drawn_on` and `look_again`.
Lyra
    `Growing` jobs.
Iteration times
    A `Performance` answers with `IterationParts`. An `Effect` concerns one job, a `Coupling` the `Running`
    jobs that a `Changed` one affects. `InputStall` is the shipped effect of CPUs and memory.
Workloads
    A `JobSource` (`SourceParameters`, `FileParameters`) or a `Generator` gives a `Table`, and `Arrivals` its
    times of submission; `read_csv` reads a file.
Errors
    `InputError` for wrong input, `PlanError` for a plan that cannot be carried out, `StuckError` for jobs
    that wait forever, `RunError` of `simulate`.
Tests
    `PolicyConformance` and `PerformanceConformance` (with pytest); for hand-worked scenarios `tiny_cluster`,
    `job`, `run_checked`, which gives a `RunResult`, and `seconds`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from artist.app.env import SchedulingEnv
    from artist.app.simulate import simulate, sweep
    from artist.core.buckets import ALL, first_of, members_of, set_of
    from artist.core.cluster import TIERS, Allocation, Cluster, Group, Machine, Slice, racks_of, tier_of
    from artist.core.events import Arrival, Change, Event, Finish, MachineEvent, Start, Stop, Wake
    from artist.core.free import Free
    from artist.core.iteration import IterationParts
    from artist.core.job import Demand, JobSpec, Stages
    from artist.core.link_use import LinkUse
    from artist.core.plan import Plan, PlanBuilder
    from artist.core.result import RunResult
    from artist.core.view import BeliefPerformance, ClusterView, JobColumns, Policy, Signal
    from artist.data import data_path
    from artist.errors import InputError, PlanError, RunError, StuckError
    from artist.performance.api import Changed, Performance, Running
    from artist.performance.couplings.api import Coupling
    from artist.performance.effects.api import Effect
    from artist.performance.effects.input_stall import InputStall
    from artist.policies.coda.core_allocator import CoreAllocator, CpuSearch
    from artist.policies.coda.eliminator import drawn_on, eliminator_of, look_again
    from artist.policies.lyra.scaling import Growing
    from artist.policies.parts.around import AnyPolicy
    from artist.policies.parts.cpu_jobs import start_cpu_jobs
    from artist.policies.parts.fill import AnyFill, Fill, fill_of
    from artist.policies.parts.orders import AnyOrder, Order, adopt_knowledge, order_of, ranking
    from artist.policies.parts.placement import AnyChooser, MachineChooser, chooser_of
    from artist.policies.parts.placer import Placer, placer_of
    from artist.policies.parts.preemption import run_first
    from artist.policies.synergy.division_rules import DivisionRule, HandedOut
    from artist.policies.synergy.greedy import Greedy
    from artist.policies.synergy.needs import Mechanism, Need
    from artist.policies.synergy.opt import Opt
    from artist.policies.synergy.proportional import Proportional
    from artist.policies.synergy.sorted_machines import Room
    from artist.policies.synergy.tune import Tune
    from artist.randomness import child_generator
    from artist.results.compare import compare
    from artist.results.folder import read_run
    from artist.results.measures import METRICS, estimate
    from artist.results.run import Run
    from artist.results.sweep import Sweep, read_sweep
    from artist.tables.files import read_csv
    from artist.tables.rows import Table
    from artist.testing.conformance import PolicyConformance
    from artist.testing.performance_conformance import PerformanceConformance
    from artist.testing.tiny import job, run_checked, seconds, tiny_cluster
    from artist.units import ns_to_seconds, seconds_to_ns
    from artist.workload.api import Arrivals, FileParameters, Generator, JobSource, SourceParameters

__all__ = ["METRICS", "Run", "Sweep", "compare", "data_path", "estimate"]
__all__ += ["SchedulingEnv", "read_run", "read_sweep", "simulate", "sweep"]
__all__ += ["Allocation", "Arrival", "BeliefPerformance", "ClusterView", "Demand", "Event", "Finish", "Group"]
__all__ += ["JobColumns", "JobSpec", "LinkUse", "Plan", "PlanBuilder", "Policy", "Signal", "Slice", "Stages"]
__all__ += [
    "Change",
    "MachineEvent",
    "Start",
    "Stop",
    "Wake",
    "child_generator",
    "ns_to_seconds",
    "seconds_to_ns",
]
__all__ += ["ALL", "TIERS", "Cluster", "Free", "Machine", "first_of", "members_of", "racks_of", "set_of"]
__all__ += ["AnyChooser", "AnyFill", "AnyOrder", "AnyPolicy", "Fill", "MachineChooser", "Order", "Placer"]
__all__ += ["adopt_knowledge", "chooser_of", "fill_of", "order_of", "placer_of", "ranking", "run_first"]
__all__ += ["start_cpu_jobs", "tier_of"]
__all__ += ["DivisionRule", "Greedy", "HandedOut", "Mechanism", "Need", "Opt", "Proportional", "Room", "Tune"]
__all__ += ["CoreAllocator", "CpuSearch", "Growing", "drawn_on", "eliminator_of", "look_again"]
__all__ += ["Changed", "Coupling", "Effect", "InputStall", "IterationParts", "Performance", "Running"]
__all__ += ["Arrivals", "FileParameters", "Generator", "JobSource", "SourceParameters", "Table", "read_csv"]
__all__ += ["InputError", "PlanError", "RunError", "StuckError"]
__all__ += ["PerformanceConformance", "PolicyConformance", "RunResult", "job", "run_checked", "seconds"]
__all__ += ["tiny_cluster"]

_HOMES = {
    "artist.app.env": "SchedulingEnv",
    "artist.app.simulate": "simulate sweep",
    "artist.core.buckets": "ALL first_of members_of set_of",
    "artist.core.cluster": "TIERS Allocation Cluster Group Machine Slice racks_of tier_of",
    "artist.core.events": "Arrival Change Event Finish MachineEvent Start Stop Wake",
    "artist.core.free": "Free",
    "artist.core.iteration": "IterationParts",
    "artist.core.job": "Demand JobSpec Stages",
    "artist.core.link_use": "LinkUse",
    "artist.core.plan": "Plan PlanBuilder",
    "artist.core.result": "RunResult",
    "artist.core.view": "BeliefPerformance ClusterView JobColumns Policy Signal",
    "artist.data": "data_path",
    "artist.errors": "InputError PlanError RunError StuckError",
    "artist.performance.api": "Changed Performance Running",
    "artist.performance.couplings.api": "Coupling",
    "artist.performance.effects.api": "Effect",
    "artist.performance.effects.input_stall": "InputStall",
    "artist.policies.coda.core_allocator": "CoreAllocator CpuSearch",
    "artist.policies.coda.eliminator": "drawn_on eliminator_of look_again",
    "artist.policies.lyra.scaling": "Growing",
    "artist.policies.parts.around": "AnyPolicy",
    "artist.policies.parts.cpu_jobs": "start_cpu_jobs",
    "artist.policies.parts.fill": "AnyFill Fill fill_of",
    "artist.policies.parts.orders": "AnyOrder Order adopt_knowledge order_of ranking",
    "artist.policies.parts.placement": "AnyChooser MachineChooser chooser_of",
    "artist.policies.parts.placer": "Placer placer_of",
    "artist.policies.parts.preemption": "run_first",
    "artist.policies.synergy.division_rules": "DivisionRule HandedOut",
    "artist.policies.synergy.greedy": "Greedy",
    "artist.policies.synergy.needs": "Mechanism Need",
    "artist.policies.synergy.opt": "Opt",
    "artist.policies.synergy.proportional": "Proportional",
    "artist.policies.synergy.sorted_machines": "Room",
    "artist.policies.synergy.tune": "Tune",
    "artist.randomness": "child_generator",
    "artist.results.compare": "compare",
    "artist.results.folder": "read_run",
    "artist.results.measures": "METRICS estimate",
    "artist.results.run": "Run",
    "artist.results.sweep": "Sweep read_sweep",
    "artist.tables.files": "read_csv",
    "artist.tables.rows": "Table",
    "artist.testing.conformance": "PolicyConformance",
    "artist.testing.performance_conformance": "PerformanceConformance",
    "artist.testing.tiny": "job run_checked seconds tiny_cluster",
    "artist.units": "ns_to_seconds seconds_to_ns",
    "artist.workload.api": "Arrivals FileParameters Generator JobSource SourceParameters",
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
