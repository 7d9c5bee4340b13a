"""Objects of Kueue (v1beta1, v1beta2) from an export by kubectl; fields have the names of its API."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from artist.errors import InputError
from artist.policies.parts.parameters import STRICT
from artist.units import MAX_S
from netmodels.inputs.schema import first_problem, read_documents

_QUANTITY = re.compile(r"(\d+\.?\d*|\.\d+)(e\d+|m|[kMGTPE]?|[KMGTPE]i)")


def amount(quantity: object) -> float:
    """Return a quantity of Kubernetes, such as 1500m or 64Gi, as a number.

    >>> amount("1500m"), amount("2Ki"), amount("1e2"), amount(8)
    (1.5, 2048.0, 100.0, 8.0)
    """
    match = _QUANTITY.fullmatch(str(quantity))
    if match is None:
        raise ValueError("a quantity such as 8, 1500m or 64Gi")
    number, suffix = match.groups()
    if suffix == "m" or suffix.startswith("e"):
        return float(number) / 1000 if suffix == "m" else float(number + suffix)
    return float(number) * (1024.0 if suffix[1:] else 1000.0) ** " KMGTPE".index(suffix[:1].upper() or " ")


_Name = Annotated[str, Field(min_length=1)]
_Amount = Annotated[float, BeforeValidator(amount)]
_Seconds = Annotated[float, Field(gt=0, le=MAX_S)]


@dataclass(config=STRICT, frozen=True)
class Quota:
    """Quota of a resource; a limit that is None does not limit."""

    name: _Name
    nominalQuota: _Amount = 0.0
    borrowingLimit: _Amount | None = None
    lendingLimit: _Amount | None = None


@dataclass(config=STRICT, frozen=True)
class FlavorQuotas:
    """Quotas of a flavor."""

    name: _Name
    resources: tuple[Quota, ...]


@dataclass(config=STRICT, frozen=True)
class ResourceGroup:
    """Resources that a job gets in one flavor, the first that serves."""

    coveredResources: tuple[_Name, ...]
    flavors: tuple[FlavorQuotas, ...]

    def __post_init__(self) -> None:
        for flavor in self.flavors:
            if sorted(quota.name for quota in flavor.resources) != sorted(self.coveredResources):
                raise ValueError(f"one quota in flavor {flavor.name} for each of coveredResources")
        if "pods" in self.coveredResources:
            raise ValueError("resources other than pods, which are not counted")


@dataclass(config=STRICT, frozen=True)
class BorrowWithinCohort:
    """Preemption in other queues for a job that borrows: of jobs up to a priority."""

    policy: Literal["Never", "LowerPriority"] = "Never"
    maxPriorityThreshold: int | None = None


@dataclass(config=STRICT, frozen=True)
class Preemption:
    """Jobs that those of a cluster queue may preempt: in other queues that borrow, and in their own."""

    reclaimWithinCohort: Literal["Never", "LowerPriority", "Any"] = "Never"
    borrowWithinCohort: BorrowWithinCohort = field(default_factory=BorrowWithinCohort)
    withinClusterQueue: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] = "Never"


@dataclass(config=STRICT, frozen=True)
class Cohort:
    """A cohort, with quotas beside those of its queues."""

    name: _Name
    parentName: str = ""
    resourceGroups: tuple[ResourceGroup, ...] = ()

    @property
    def quotas(self) -> dict[tuple[str, str], Quota]:
        """Quotas by flavor and resource."""
        flavors = (flavor for group in self.resourceGroups for flavor in group.flavors)
        return {(flavor.name, quota.name): quota for flavor in flavors for quota in flavor.resources}


@dataclass(config=STRICT, frozen=True)
class ClusterQueue(Cohort):
    """A cluster queue, whose parent is its cohort; without resource groups it has no quotas."""

    queueingStrategy: Literal["BestEffortFIFO", "StrictFIFO"] = "BestEffortFIFO"
    preemption: Preemption = field(default_factory=Preemption)


@dataclass(config=STRICT, frozen=True)
class LocalQueue:
    """A local queue: jobs of a virtual cluster, in an account if that is its namespace."""

    name: _Name
    clusterQueue: _Name
    namespace: str = ""


@dataclass(config=STRICT, frozen=True)
class ResourceFlavor:
    """A flavor; with a topology its jobs are placed by Kueue."""

    name: _Name
    nodeLabels: dict[str, str] = field(default_factory=dict)
    topologyName: str = ""


@dataclass(config=STRICT, frozen=True)
class PriorityClass:
    """A workload priority class."""

    name: _Name
    value: int


@dataclass(config=STRICT, frozen=True)
class WaitForPodsReady:
    """Times in s: a job without machines after `timeout` waits again, after a backoff that doubles."""

    timeout: _Seconds = 1800.0
    timestamp: Literal["Eviction", "Creation"] = "Eviction"
    backoffBaseSeconds: _Seconds = 60.0
    backoffMaxSeconds: _Seconds = 3600.0


KINDS: Mapping[str, type] = {
    "ClusterQueue": ClusterQueue,
    "Cohort": Cohort,
    "LocalQueue": LocalQueue,
    "ResourceFlavor": ResourceFlavor,
    "WorkloadPriorityClass": PriorityClass,
}
_IGNORED = ("namespaceSelector", "fairSharing", "nodeTaints", "tolerations", "description")
_HARMLESS = (
    "None",
    *({"whenCanBorrow": way, "whenCanPreempt": "TryNextFlavor"} for way in ("Borrow", "MayStopSearch")),
)
_AROUND = ("apiVersion", "kind", "metadata", "spec", "status")
_RENAMED = {"cohort": "parentName", "cohortName": "parentName", "parent": "parentName"}


def read_objects(path: Path) -> tuple[dict[str, list[Any]], list[str]]:
    """Return the objects of an export by kind, and the names of its ignored parts.

    Raises
    ------
    InputError
        If the file is no such export, or has a part that would change the schedule and is not simulated.
    """
    objects: dict[str, list[Any]] = {kind: [] for kind in KINDS}
    ignored, seen = dict[str, None](), set[tuple[str, str, str]]()
    for item in _items(read_documents(path, "Kueue export"), str(path)):
        kind, about, spec = str(item["kind"]), item.get("metadata"), item.get("spec") or {}
        if kind not in KINDS:
            ignored[f"kind {kind}"] = None
            continue
        if not isinstance(about, Mapping) or not isinstance(spec, Mapping):
            raise InputError("no object", where=f"{path}, {kind}", found=item, allowed="metadata and spec")
        where = f"{path}, {kind} {about.get('name')}"
        named = {name: about[name] for name in ("name", "namespace") if name in about}
        around = {name: value for name, value in item.items() if name not in _AROUND}
        objects[kind].append(_read(kind, named, {**around, **spec}, where, ignored))
        if (key := (kind, str(about.get("name")), str(about.get("namespace")))) in seen:
            raise InputError("the same object twice", where=where, allowed="one of each name")
        seen.add(key)
    if not objects["ClusterQueue"]:
        allowed = "at least one object of kind ClusterQueue"
        raise InputError("no cluster queue", where=str(path), allowed=allowed)
    return objects, list(ignored)


def _read(
    kind: str, named: Mapping[str, Any], given: Mapping[str, Any], where: str, ignored: dict[str, None]
) -> Any:
    """Return an object; add its ignored parts."""
    names = [one.name for one in fields(KINDS[kind])]
    kept = {name: value for name, value in named.items() if name in names}
    for name, value in given.items():
        if name in _IGNORED and value:
            ignored[name] = None
        elif _RENAMED.get(name, name) in names:
            kept[_RENAMED.get(name, name)] = value
        elif value and value not in _HARMLESS:
            raise _refused(name, where, value)
    try:
        return TypeAdapter(KINDS[kind]).validate_python(kept)
    except ValidationError as error:
        for one in error.errors():
            if one["type"] == "unexpected_keyword_argument":
                raise _refused(str(one["loc"][-1]), where, one["input"]) from None
        raise first_problem(error, where, names) from None


def _refused(name: str, where: str, value: object) -> InputError:
    what = f"{name} would change the schedule, and is not simulated"
    return InputError(what, where=where, found=value, allowed=f"none; remove {name}")


def _items(documents: Iterable[object], where: str) -> Iterable[Mapping[str, Any]]:
    """Yield the objects of documents, and of lists among them."""
    for document in documents:
        if document is None:  # after the last line of dashes
            continue
        if not isinstance(document, Mapping) or "kind" not in document:
            raise InputError(
                "no object of Kubernetes", where=where, found=document, allowed="kind, metadata, spec"
            )
        items = document.get("items")
        if isinstance(items, list):
            yield from _items(items, where)
        else:
            yield document
