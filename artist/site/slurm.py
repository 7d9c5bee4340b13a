"""slurm.conf and its relatives: parameters of `policy=slurm`, nodes and leaf switches.

Keys without effect on the schedule are named in a note. Those that would change it in a way that the policy
does not follow are refused, all at once. Nodes are in order of their names, as the controller sorts them.

Source: the manual pages of Slurm 22.05 on slurm.conf, topology.conf, gres.conf and sacctmgr.
"""

import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from artist.bad_input.explain import from_validation
from artist.errors import InputError
from artist.policies.parts.limits import Association, Qos
from artist.policies.slurm.configuration import Partition, time_ns
from artist.policies.slurm.policy import Slurm
from artist.site.slurm_files import Line, line_of, names_in, read_lines
from artist.units import NS_PER_S

_log = logging.getLogger(__name__)

_IDLE = r"|\(null\)|none|no|-1|n/a|off|[0:]+|1\.0+|infinite|unlimited"
_REFUSED = {  # not followed by the policy: keys by feature, and their values that change nothing
    "always": ("selecttype burstbuffertype jobsubmitplugins licenses", _IDLE + "|select/cons_(tres|res)"),
    "multifactor": (
        "priorityweighttres priorityweightassoc prioritysitefactorplugin priorityusageresetperiod", _IDLE
    ),
    "classic": ("fairsharedampeningfactor", "1"),
    "preempt": ("preemptexempttime", _IDLE),
    "requeue": ("jobrequeue", "1"),
    "schedulerparameters": (
        "assoc_limit_stop bf_busy_nodes bf_ignore_newly_avail_nodes bf_job_part_count_reserve"
        " bf_max_job_assoc bf_max_job_part bf_max_job_start bf_max_job_user_part bf_min_age_reserve"
        " bf_min_prio_reserve bf_one_resv_per_job bf_running_job_reserve pack_serial_at_end"
        " partition_job_depth preempt_strict_order preempt_youngest_first reduce_completing_frag"
        " sched_max_job_start", "0"
    ),
    "preemptparameters": ("strict_order youngest_first min_exempt_priority", "0"),
    "priorityflags": (
        "depth_oblivious incr_only max_tres max_tres_gres no_normal_all no_normal_part no_normal_qos"
        " small_relative_to_time", "0"
    ),
    "selecttypeparameters": ("cr_socket cr_socket_memory cr_memory", "0"),
    "topologyparam": ("dragonfly topooptional switchasnoderank", "0"),
    "partition": (
        "state exclusive exclusiveuser exclusivetopo qos maxcpuspernode maxcpuspersocket", _IDLE + "|up"
    ),
    "sharing": ("oversubscribe shared", "no|yes.*|force:1|exclusive"),
    "accounts": (
        "grptresmins grptresrunmins grpwall maxtresrunminspa maxtresrunminspu maxtrespa maxjobspa usagethres"
        " maxtresperaccount maxjobsperaccount preemptexempttime partition grpcpus grpnodes grpmemory", _IDLE
    ),
}  # fmt: skip
_LISTS = (
    "schedulerparameters", "preemptparameters", "priorityflags", "selecttypeparameters", "topologyparam"
)  # fmt: skip
_ALIASES = {
    "maxtrespu": "MaxTRESPerUser", "maxjobspu": "MaxJobsPerUser", "shared": "OverSubscribe",
    "reorder_count": "preempt_reorder_count",
}  # fmt: skip
_NOT_KEYS = ("conf", "Weight", "partitions", "qos", "associations", "Parent")  # of the records only
_ELSEWHERE = ("no_fair_tree", "cr_lln", "accountingstoragetype", "accountingstorageenforce", "priority")
_READ = {  # of lines that are no record of the policy, by form
    "nodename": "nodename gres feature features state cpus procs boards socketsperboard sockets"
    " corespersocket threadspercore realmemory weight",
    "downnodes": "downnodes state reason",
    "gres": "nodename name type file count autodetect",
    "nodeset": "nodeset nodes feature",
    "switchname": "switchname nodes switches",
}
_ABSENT = re.compile(r"down|drain|fail|future", re.IGNORECASE)
_LIMITS = {"GrpTRES", "GrpJobs", "MaxJobs", "MaxTRESPerUser", "MaxJobsPerUser"}
_UNSET = {  # values that set nothing; a QOS with PreemptMode=cluster has that of the cluster
    **{"PreemptMode": "cluster", "DefaultTime": "none", "OverSubscribe": "(?!exclusive$).*"},
    **dict.fromkeys(_LIMITS, "-1"),
}
_GIB = {"K": 2**-20, "M": 2**-10, "": 2**-10, "G": 1.0, "T": 2.0**10, "P": 2.0**20}


class Node(NamedTuple):
    """A node; 0 CPUs or MiB of memory and an empty GPU type if not stated."""

    where: str
    gpus: int
    gpu_type: str
    cpus: int
    memory_mib: int
    weight: int
    features: frozenset[str]


class SlurmConf:
    """Content of files of Slurm, checked.

    Attributes
    ----------
    policy
        Parameters of `policy=slurm`.
    nodes
        Nodes that serve, by name.
    leaves, is_tree
        Number of the leaf switch by node; whether there are leaf switches, joined by one switch.
    files
        All files that were read.

    Raises
    ------
    InputError
        For lines that cannot be read, contradict others, or would change the schedule unseen.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        lines, self.files = read_lines(paths)
        self.policy: dict[str, Any] = {}
        self.nodes: dict[str, Node] = {}
        self.leaves: dict[str, int] = {}
        self._absent: set[str] = set()
        self._refused: dict[str, str] = {}  # texts, and their lines
        self._ignored: dict[str, None] = {}
        of = defaultdict[str, list[Line]](list)
        for line in lines:
            of[_form(line)].append(line)
        for form, known in _READ.items():
            for line in of[form]:
                for key in line.values:
                    self._sort(line, key, known.split(), ())
        self._settings = {key: text.lower() for line in of["settings"] for key, text in line.values.items()}
        self._preempts = self._has("preempttype", "partition_prio|qos")
        self._read_settings(of["settings"])
        self._read_nodes(_with_defaults(of["nodename"]), of["downnodes"])
        self._read_gres(of["gres"])
        self._read_partitions(_with_defaults(of["partitionname"]), of["nodeset"])
        self.is_tree = self._read_switches(of["switchname"])
        self._read_accounts(of["sacctmgr"])
        self._finish()

    def _has(self, key: str, pattern: str) -> bool:
        return re.search(pattern, self._settings.get(key, "")) is not None

    def _read(
        self, line: Line, make: Callable[..., Any], features: Sequence[str], base: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the values of a line for a record, which judges each; refuse or note the other keys."""
        known = {name.lower(): name for name in make.__annotations__ if name not in _NOT_KEYS}
        known |= {alias: name for alias, name in _ALIASES.items() if name in known.values()}
        values = dict(base)
        for key, text in line.values.items():
            self._sort(line, key, [*known, *_ELSEWHERE, *[line.head] * bool(base)], features)
            name, where = known.get(key, ""), f"{line.where}, {line.keys[key]}"
            unused = name == "PreemptMode" and not self._preempts and "GANG" not in text.upper()
            value = _value(name, text, where) if name and name not in base and not unused else None
            if value is not None:
                _check(make, {**base, name: value}, line.where)
                values[name] = value
        return values

    def _sort(self, line: Line, key: str, known: Sequence[str], features: Sequence[str]) -> None:
        """Refuse a key that is not read, or note that it has no effect."""
        refused = {one: _REFUSED[feature][1] for feature in features for one in _REFUSED[feature][0].split()}
        if key in refused and not re.fullmatch(refused[key], line.values[key], re.IGNORECASE):
            self._refused.setdefault(f"{line.keys[key]}={line.values[key]}".rstrip("="), line.where)
        elif key not in (*known, *refused):
            close = get_close_matches(key, [*known, *refused], 1, 0.999 - 1 / max(len(key), 2))
            if close and "accounts" not in features:  # those are printed; at others Slurm itself ends
                allowed = f"did you mean {close[0]!r}?"
                raise InputError("unknown key", where=line.where, found=line.keys[key], allowed=allowed)
            self._ignored[line.keys[key]] = None

    def _read_settings(self, lines: Sequence[Line]) -> None:
        classic, multifactor = self._has("priorityflags", "no_fair_tree"), self._has("prioritytype", "multi")
        on = {"always": True, "multifactor": multifactor, "classic": multifactor and classic}
        on |= dict.fromkeys(("preempt", "requeue", "preemptparameters"), self._preempts)
        on["priorityflags"] = multifactor
        features = [feature for feature, is_on in on.items() if is_on and feature not in _LISTS]
        for line in lines:
            for key, text in line.values.items():
                words, of = [(line.keys[key], text)], features
                if key in _LISTS:
                    items = text.removeprefix("(null)").split(",") if on.get(key, True) else []
                    words, of = [item.strip(" =").partition("=")[::2] for item in items if item], [key]
                self.policy |= self._read(line_of(line.where, words), Slurm, of, {})
        if classic:
            self.policy["PriorityFlags"] = ["NO_FAIR_TREE"]

    # --- nodes

    def _read_nodes(self, lines: Iterable[Line], down: Iterable[Line]) -> None:
        for line in lines:
            gpu_type, gpus = self._gpus(line.get("gres"), f"{line.where}, Gres")
            boards = _whole(line, "boards", 1) * _whole(line, "socketsperboard", 1)
            cores = _whole(line, "sockets", boards) * _whole(line, "corespersocket", 1)
            stated = {"sockets", "socketsperboard", "corespersocket", "threadspercore"} & {*line.values}
            cpus = _whole(line, "threadspercore", 1) * cores * bool(stated)
            cpus = _whole(line, "cpus") or _whole(line, "procs") or cpus
            features = frozenset(line.get("features", "feature").split(","))
            memory_mib, weight = _whole(line, "realmemory"), _whole(line, "weight", 1)
            node = Node(line.where, gpus, gpu_type, cpus, memory_mib, weight, features)
            for name in names_in(line.get("nodename"), line.where):
                if name.upper() == "ALL" or name in self.nodes or name in self._absent:
                    allowed = "each node once, by its name"
                    raise InputError("not a new node", where=line.where, found=name, allowed=allowed)
                if _ABSENT.match(line.get("state")):
                    self._absent.add(name)
                else:
                    self.nodes[name] = node
        for line in down:
            self._absent |= {*self._named(line.get("downnodes"), line.where)}
        kept = sorted(self.nodes.keys() - self._absent, key=_natural)
        self.nodes = {name: self.nodes[name] for name in kept}
        by_weight = defaultdict[int, list[str]](list)
        for name, node in self.nodes.items():
            by_weight[node.weight].append(name)
        if len(by_weight) > 1:
            self.policy["Weight"] = {weight: ",".join(names) for weight, names in by_weight.items()}

    def _gpus(self, text: str, where: str) -> tuple[str, int]:
        """Return GPU type and number of a value such as gpu:a100:8(S:0-1),shard:80."""
        types, total = set[str](), 0
        for item in filter(None, re.sub(r"\([^)]*\)", "", text).split(",")):
            match = re.fullmatch(r"gpu(?::(?!\d+$)([^:]+))?(?::(\d{1,4}))?", item, re.IGNORECASE)
            if match is None and item.lower().startswith("gpu:"):
                raise InputError("not GPUs", where=where, found=item, allowed="gpu:TYPE:NUMBER")
            if match is None:
                self._ignored[f"Gres={item.partition(':')[0]}"] = None
            else:
                types.add(match[1] or "")
                total += int(match[2] or 1)
        if len(types) > 1:
            raise InputError("GPUs of several types", where=where, found=text, allowed="one type in a node")
        return "".join(types), total

    def _read_gres(self, lines: Iterable[Line]) -> None:
        """Take the types of GPUs from gres.conf, and compare their numbers."""
        parts = defaultdict[str, list[tuple[str, int, str]]](list)
        for line in (line for line in lines if line.get("name").lower() == "gpu"):
            files = names_in(line.get("file"), line.where) if line.get("file") else ()
            for name in self._named(line.get("nodename") or "ALL", line.where, strict=False):
                parts[name].append((line.get("type"), _whole(line, "count") or len(files), line.where))
        for name, of_node in parts.items():
            node, types = self.nodes[name], {one[0] for one in of_node} - {""}
            total = sum(one[1] for one in of_node)
            if node.gpus and (len(types) > 1 or 0 < total < node.gpus):
                stated = f"{total}, {', '.join(sorted(types))}".strip(", ")
                allowed = f"{node.gpus} of one type: {node.where}"
                raise InputError(f"other GPUs in {name}", where=of_node[0][2], found=stated, allowed=allowed)
            self.nodes[name] = node._replace(gpu_type=node.gpu_type or "".join(types))

    def _named(
        self, text: str, where: str, sets: Mapping[str, list[str]] | None = None, *, strict: bool = True
    ) -> list[str]:
        """Return the serving nodes of a list of nodes and node sets; all if no nodes are known."""
        if text.upper() == "ALL":
            return list(self.nodes)
        names = dict.fromkeys(one for name in names_in(text, where) for one in (sets or {}).get(name, [name]))
        unknown = [name for name in names if name not in self.nodes and name not in self._absent]
        if strict and unknown and self.nodes:
            raise InputError("no such node", where=where, found=unknown[0], allowed=_few(self.nodes))
        return [name for name in names if name in self.nodes or (strict and not self.nodes)]

    # --- partitions, switches, accounts

    def _read_partitions(self, lines: Iterable[Line], nodesets: Iterable[Line]) -> None:
        sets: dict[str, list[str]] = {}
        for line in nodesets:
            wanted, nodes = {*line.get("feature").split(",")} - {""}, line.get("nodes")
            some = [name for name, node in self.nodes.items() if wanted & node.features]
            sets[line.get("nodeset")] = some + (self._named(nodes, line.where) if nodes else [])
        for line in lines:
            name, nodes = line.get("partitionname"), line.get("nodes")
            some = self._named(nodes, line.where, sets) if nodes else []
            every = nodes.upper() == "ALL" or (0 < len(self.nodes) == len(some))
            base: dict[str, Any] = {"PartitionName": name, "Nodes": "ALL" if every else ",".join(some)}
            if both := _whole(line, "priority"):  # an old key
                base |= {"PriorityTier": both, "PriorityJobFactor": both}
            if self._has("selecttypeparameters", "cr_lln"):
                base["LLN"] = True
            values = self._read(line, Partition, ("partition", "sharing"), base)
            if some or every:
                self.policy.setdefault("partitions", []).append(values)
                _check(Slurm, {"partitions": self.policy["partitions"]}, line.where)
            else:
                self._ignored[f"partition {name} without nodes"] = None

    def _read_switches(self, lines: Sequence[Line]) -> bool:
        """Number the leaf switches by node; return whether one switch joins them."""
        below: dict[str, list[str]] = {}
        leaves: list[str] = []
        for line in lines:
            switch, nodes, switches = line.get("switchname"), line.get("nodes"), line.get("switches")
            if bool(nodes) == bool(switches) or switch in below:
                allowed = "each switch once, with Nodes or with Switches"
                raise InputError("not a new switch", where=line.where, found=switch, allowed=allowed)
            below[switch] = names_in(switches, line.where) if switches else []
            for name in self._named(nodes, line.where, strict=False) if nodes else ():
                if self.leaves.setdefault(name, len(leaves)) != len(leaves):
                    allowed = "one switch with Nodes for each node"
                    raise InputError("on two switches", where=line.where, found=name, allowed=allowed)
            leaves += [switch] * bool(nodes)
        for line in lines:
            if unknown := {*below[line.get("switchname")]} - below.keys():
                allowed = _few(below)
                raise InputError("no such switch", where=line.where, found=min(unknown), allowed=allowed)
        return len(leaves) == 1 or any({*leaves} == {*some} for some in below.values())

    def _read_accounts(self, lines: Iterable[Line]) -> None:
        parent, accounts = "root", {"root"}
        for line in lines:
            name = line.get(line.head)
            if line.head == "parent" and name not in accounts:
                raise InputError("no such account", where=line.where, found=name, allowed=_few(accounts))
            if line.head == "parent":
                parent = name
            elif line.head == "qos":
                self._limited(line, "qos", Qos, {"Name": name})
            elif line.head == "account" and name != "root":
                accounts.add(name)
                above = "" if parent == "root" else parent
                self._limited(line, "associations", Association, {"Account": name, "Parent": above})
            elif line.head == "user" and (parent, name) != ("root", "root"):
                self._limited(line, "associations", Association, {"Account": parent, "User": name})

    def _limited(self, line: Line, kind: str, make: Callable[..., Any], base: Mapping[str, Any]) -> None:
        """Add a QOS or an association, with its limits if Slurm enforces them."""
        values = self._read(line, make, ["accounts"], base)
        if self._settings and not self._has("accountingstorageenforce", r"limits|safe|all|\d"):
            for limit in values.keys() & {*_LIMITS}:
                del values[limit]
                self._ignored[f"{limit}, as AccountingStorageEnforce has no limits"] = None
        self.policy.setdefault(kind, []).append(values)
        _check(Slurm, {kind: self.policy[kind]}, line.where)

    def _finish(self) -> None:
        """Raise for lines that would change the schedule; log notes."""
        if self._refused:
            what = "would change the schedule, and is not simulated"
            allowed = "a copy of the file without it, for an answer without its effect"
            where = next(iter(self._refused.values()))
            raise InputError(what, where=where, found="; ".join(self._refused), allowed=allowed)
        notes = []
        if self._settings and not (
            self._has("accountingstoragetype", "slurmdbd") or "associations" in self.policy
        ):
            vain = [one for one in ("PriorityWeightAge", "PriorityWeightFairshare") if self.policy.get(one)]
            self.policy |= dict.fromkeys(vain, 0)
            notes += [f"{one} ignored, as by Slurm without slurmdbd" for one in vain]
        notes += [f"{len(self._absent)} nodes do not serve: {_few(self._absent)}"] * bool(self._absent)
        notes += [f"without effect here: {', '.join(self._ignored)}"] * bool(self._ignored)
        for note in notes:
            _log.info("%s: %s", self.files[0], note, extra={"note": True})


def _form(line: Line) -> str:
    """Return the form of a line, by its first key."""
    if line.head in ("cluster", "parent", "account", "user", "qos"):
        return "sacctmgr"
    if "name" in line.values or "autodetect" in line.values:
        return "gres"
    known = ("nodename", "partitionname", "nodeset", "switchname", "downnodes")
    return line.head if line.head in known else "settings"


def _with_defaults(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield lines with the values of the DEFAULT lines before them."""
    values: dict[str, str] = {}
    keys: dict[str, str] = {}
    for line in lines:
        merged = Line(line.where, values | line.values, keys | line.keys)
        if line.get(line.head).upper() == "DEFAULT":
            values, keys = merged.values, merged.keys
        else:
            yield merged


def _check(make: Callable[..., Any], values: dict[str, Any], where: str) -> None:
    """Raise InputError if a record does not take values."""
    try:
        make(**values)
    except ValidationError as error:
        fault = from_validation(error)
        where = ", ".join(filter(None, (where, fault.where)))
        raise InputError(fault.what, where=where, found=fault.found, allowed=fault.allowed) from None


def _value(name: str, text: str, where: str) -> Any:
    """Return a value in the policy's form; None where it sets nothing."""
    if re.fullmatch(r"|\(null\)|" + _UNSET.get(name, ""), text, re.IGNORECASE):
        return None
    if name in ("Default", "LLN", "PriorityFavorSmall"):
        if text.lower() not in ("yes", "true", "up", "1", "no", "false", "down", "0"):
            raise InputError("wrong value", where=where, found=text, allowed="YES or NO")
        return text.lower() in ("yes", "true", "up", "1")
    if "TRES" in name:
        return _tres(text, where, weigh=name == "TRESBillingWeights")
    if name.endswith("Type") or name == "TopologyPlugin":
        kind = {"SchedulerType": "sched"}.get(name, re.sub(r"(Type|Plugin)$", "", name).lower())
        value = text.lower() if "/" in text else f"{kind}/{text.lower()}"
        return re.sub("topology/(default|flat)", "topology/none", value)
    if name == "Preempt":
        return text.split(",")
    if name in ("PreemptMode", "OverSubscribe"):
        return text.upper()
    if name == "GraceTime" and re.fullmatch(r"\d+:\d+:\d+", text):
        return time_ns(text) // NS_PER_S
    return int(text) if re.fullmatch(r"-?\d{1,18}", text) and name != "Account" else text


def _tres(text: str, where: str, *, weigh: bool = False) -> dict[str, float]:
    """Return amounts, or weights, of resources, memory in GiB: cpu=64,mem=1000G,gres/gpu=16."""
    values: dict[str, float] = {}
    for item in filter(None, text.split(",")):
        match = re.fullmatch(r"\s*(cpu|mem|node|gres/gpu)=(-1|\d*\.?\d+)([KMGTP]?)", item, re.IGNORECASE)
        if match is None or (match[3] and match[1].lower() != "mem"):
            allowed = "cpu, mem, node, gres/gpu, as in cpu=64,mem=1000G"
            raise InputError("not counted", where=where, found=item, allowed=allowed)
        unit = _GIB[match[3].upper()] if match[1].lower() == "mem" else 1.0
        if match[2] != "-1":
            values[match[1].lower()] = float(match[2]) / unit if weigh else float(match[2]) * unit
    return values


def _whole(line: Line, key: str, otherwise: int = 0) -> int:
    """Return a whole number of a line."""
    text = line.get(key)
    if text and not re.fullmatch(r"\d{1,9}", text):
        where = f"{line.where}, {line.keys[key]}"
        raise InputError("wrong value", where=where, found=text, allowed="a whole number from 0")
    return int(text) if text else otherwise


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts n2 before n10."""
    return [(int(part), part) if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


def _few(names: Iterable[str], shown: int = 8) -> str:
    texts = sorted(names, key=_natural)
    return ", ".join(texts[:shown]) + f" and {len(texts) - shown} more" * (len(texts) > shown)
