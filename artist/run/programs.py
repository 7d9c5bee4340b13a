"""Language models with a plan in a run: their profiles, and refusals before its clock."""

from collections.abc import Callable, Sequence
from functools import cache

from artist.core.cluster import Cluster, Machine
from artist.core.compact_jobs import field_of
from artist.core.job import JobSpec
from artist.errors import InputError
from artist.units import NS_PER_S
from netmodels.api import NetworkModel, Profile, SystemSettings, Topology, get_profile, shape_of


class Programs:
    """Profiles by the name of a model, and of language models by name and plan, such as `Llama3-70B tp8 pp4`.

    A plan is priced at the speeds of the cluster's default GPUs; others are faster or slower by their
    relative speeds.

    Parameters
    ----------
    usual
        Profiles of models without a plan.
    cluster, topology
        Machines, and their types.
    network, system
        The network model, and its settings.
    contention
        `performance.contention`.
    """

    def __init__(
        self,
        usual: Callable[[str], Profile],
        cluster: Cluster,
        topology: Topology,
        network: NetworkModel,
        system: SystemSettings,
        contention: str,
    ) -> None:
        self._usual, self._cluster, self._topology = usual, cluster, topology
        self._network, self._system, self._contention = network, system, contention
        self.profile = cache(lambda name: self._profile(name, usual))
        self.shipped = cache(lambda name: self._profile(name, get_profile))
        self.between_sizes = cache(self._between_sizes)

    def _profile(self, name: str, usual: Callable[[str], Profile]) -> Profile:
        try:
            return usual(name)
        except InputError:
            from netmodels.api import Plan, is_architecture, language_profile  # most runs do without

            model, _, plan = name.partition(" ")
            if not is_architecture(model):
                if usual is not get_profile or self._usual is get_profile:
                    raise
                return self.profile(name)  # measured layers, or traces, of a model that is not shipped
            machine = self._cluster.default_machine
            assert machine is not None, "a job with GPUs was admitted"
            return language_profile(model, Plan.parse(plan), machine.gpu_type, machine.speed)

    def _between_sizes(self, name: str, asked: int, held: int) -> float:
        """Return compute time x GPUs on the GPUs held, relative to those asked for; 1 without a plan."""
        program = self.profile(name).program
        if program is None:
            return 1.0
        return program.free_ns(held) * held / (program.free_ns(asked) * asked)

    def step_s(self, name: str, gpus: int, gpu_types: str) -> float:
        """Return the time of a step on a free network, on the default GPUs; see `artist.workload.plans`.

        Raises
        ------
        InputError
            If some GPUs that the job may use have too little memory or no fitted speeds, or nothing prices
            the plan.
        """
        from netmodels.api import Plan, Program, get_architecture, language_profile

        model, _, text = name.partition(" ")
        plan, architecture = Plan.parse(text), get_architecture(model)
        allowed = gpu_types.split("|") if gpu_types else None
        types = dict.fromkeys((m.type, m.gpu_type, m.speed) for m in self._cluster.machines if m.gpus)
        for machine_type, gpu_type, speed in types:
            if allowed is None or gpu_type in allowed:
                language_profile(model, plan, gpu_type, speed)
                memory = self._topology.machine_types[machine_type].gpu_memory_bytes
                lacking = Program(architecture, plan, gpu_type, speed, "whole").lacking(gpus, memory)
                if lacking:
                    fits = "a plan or gpu_types with room for it"
                    raise InputError("it does not fit", where="plan", found=lacking, allowed=fits)
        profile, machine = self.profile(name), self._cluster.default_machine
        assert machine is not None, "the table's jobs have GPUs"
        if profile.program is None:
            return profile.compute_ns / machine.speed / NS_PER_S
        self._check(profile, gpus, machine)
        return profile.program.free_ns(gpus, 1 / machine.speed) / NS_PER_S

    def check(self, jobs: Sequence[JobSpec]) -> None:
        """Refuse jobs that their model's program cannot be, such as a trace of other GPUs.

        Raises
        ------
        InputError
            With the model.
        """
        machine = self._cluster.default_machine
        pairs = zip(field_of(jobs, "model"), field_of(jobs, "demand"), strict=True)
        for model, demand in dict.fromkeys(pairs):
            profile = self.profile(model) if model and demand.gpus and machine else None
            if profile is None or profile.program is None or machine is None:
                continue
            try:
                for size in dict.fromkeys((demand.gpus, demand.min_gpus, demand.max_gpus)):
                    profile.program.check(size or demand.gpus)
                self._check(profile, demand.gpus, machine)
            except InputError as error:
                where = f"jobs of model {model}, {error.where}"
                raise InputError(error.what, where=where, found=error.found, allowed=error.allowed) from None

    def _check(self, profile: Profile, gpus: int, machine: Machine) -> None:
        """Refuse a program that the network does not price."""
        if self._contention != "none" and self._system.collectives != "nccl":
            what, fits = "only NCCL's collectives of plans share links", "performance.contention=none"
            raise InputError(what, where="plan", found=profile.name, allowed=fits)
        whole, rest = divmod(gpus, machine.gpus)
        shape = shape_of((0, machine.type, count) for count in (*[machine.gpus] * whole, rest))
        self._network.iteration(profile, shape, self._topology.fabric, self._system)
