"""Any policy, with CPUs and memory for the jobs that gain from them, as in Synergy.

In plain words: the policy `of` plans the jobs that run and their GPUs as it does alone. `mechanism` decides
CPUs and memory:

- tune: `of` plans with its own `fill`. Then the CPUs and memory of the machines whose jobs changed are
  divided again among the jobs there: each has at least the lesser of its best case and its share, and the
  rest is handed out to jobs that gain from it, in order of arrival.
- opt: the same, but the rest is divided for the largest total gain: the sum of the jobs' throughputs relative
  to their shares, weighted by GPUs, is maximised by an integer program.
- greedy: jobs ask for their best case and wait for it; they keep it as long as they run.
- a rule of the user's own, which inherits `DivisionRule`.

The best case of a job is the least CPUs and memory with which it reaches its highest speed
(`artist.policies.synergy.best_case`). It holds for as few machines as possible: under greedy a job on more of
them, or on machines with less, may be slower than with its share. CPU-only jobs, jobs that share GPUs, and
jobs on closed machines keep the allocations that `of` plans (`artist.policies.synergy.division`).

Paper: Mohan et al., Looking Beyond GPUs for DNN Scheduling on Multi-Tenant Clusters (Synergy), OSDI 2022,
sections 3.3, 4.1, 4.2 and 5.3.2.

Differs from the paper: there the mechanism also places the jobs (`policy=synergy`); here `of` does.
"""

from dataclasses import replace
from types import MappingProxyType
from typing import Annotated

from pydantic import PlainValidator
from pydantic.dataclasses import dataclass

from artist.core.plan import Plan
from artist.core.view import ClusterView
from artist.policies.parts.around import AnyPolicy, Around
from artist.policies.parts.orders import adopt_knowledge
from artist.policies.parts.parameters import STRICT, check_part
from artist.policies.synergy.best_case import BestCases
from artist.policies.synergy.best_case_demands import BestCaseDemands
from artist.policies.synergy.division import Division
from artist.policies.synergy.division_rules import RULES, DivisionRule, checked_rule

AnyRule = Annotated[
    str | DivisionRule,
    PlainValidator(lambda value: check_part(value, (*RULES, "greedy"), "divide", DivisionRule)),
]


@dataclass(config=STRICT)
class CpuTuned(Around):
    """A policy whose jobs get the CPUs and memory that they gain from."""

    knows_models = knows_iterations = knows_performance = True
    only_while_jobs_wait = False  # a finish leaves CPUs to divide
    remembers_places = True  # with shares in proportion to GPUs
    decides_cpus = True

    of: AnyPolicy
    mechanism: AnyRule = "tune"

    def __post_init__(self) -> None:
        self._check_inside()
        adopt_knowledge(self, self.mechanism)
        cases, mechanism = BestCases(), self.mechanism
        self._resources: Division | BestCaseDemands = BestCaseDemands(cases)
        if mechanism != "greedy":
            rule = RULES[mechanism](cases) if isinstance(mechanism, str) else checked_rule(mechanism)
            self._resources = Division(rule, cases)

    def _check_inside(self) -> None:
        """Refuse a policy inside whose CPUs and memory are not those that the mechanism expects."""
        if getattr(self.of, "decides_cpus", False):
            name = type(self.of).__name__
            raise ValueError(f"{name} decides CPUs and memory itself; policy@policy.of=another policy")
        fits = ("as_asked",) if self.mechanism == "greedy" else ("proportional", "as_asked")
        if getattr(self.of, "fill", "proportional") not in fits:
            raise ValueError(f"mechanism and of.fill do not fit together; policy.of.fill={' or '.join(fits)}")

    def decide(self, view: ClusterView) -> Plan:
        """Return the plan of the policy inside, with other CPUs and memory."""
        plan = self.of.decide(self._resources.adapted(view))
        changes = self._resources.settle(view, plan.changes)
        return replace(plan, changes=MappingProxyType(changes), awaited_gpus=0)
