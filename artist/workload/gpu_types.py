"""GPU types that jobs ask for, under the names that the cluster's machines have.

Traces spell a type in many ways (A100-SXM4-80GB, nvidia_a100, V100M32). A name states a model and, perhaps, a
form (SXM, PCIe, NVL) and gigabytes of memory. It matches the cluster's types of the same letters and digits,
else those of its model that do not differ in form or memory where both names state it: V100M32 matches V100,
but not V100-16GB. A part of a GPU (MIG) is a type of its own.
"""

import logging
import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from artist.core.gpus import Gpus
from artist.tables.rows import Column, Table, coded
from artist.workload.api import JobSource, TypedFileParameters
from artist.workload.readers import rules
from artist.workload.table import refuse

_log = logging.getLogger(__name__)
_COLUMN, _SETTING, _MAX_NAMES = "gpu_types", "workload.gpu_types", 8
_MAKERS = re.compile(r"nvidia|amd|instinct|tesla|geforce|quadro|gtx|rtx|hbm\d?e?")
_SLICE = re.compile(r"mig|\d+g\.\d+gb")
_FORM = re.compile(r"(sxm|pcie|nvl)\d*")
_MEMORY = re.compile(
    r"[\W_](\d+)[\W_]?gi?b?(?![a-z0-9])|(?<=\d)m(\d+)$|[\W_](16|24|32|40|48|80|94|141)$"
)  # 80GB, M32, -32


def facts(name: str) -> tuple[str, str, str]:
    """Return the model, form and gigabytes of a GPU type; "" if the name does not state them.

    >>> facts("NVIDIA A100-SXM4-80GB"), facts("V100M32"), facts("a10g")
    (('a100', 'sxm', '80'), ('v100', '', '32'), ('a10g', '', ''))
    """
    text = name.lower()
    if _SLICE.search(text):
        return _plain(text), "", ""
    memory, form = _MEMORY.search(text), _FORM.search(text)
    model = _plain(_FORM.sub("", _MAKERS.sub("", _MEMORY.sub("", text))))
    return model, form[1] if form else "", next(filter(None, memory.groups())) if memory else ""


def matching(name: str, types: Sequence[str]) -> tuple[str, ...]:
    """Return the types of the cluster that match a name.

    >>> matching("tesla-t4", ("V100-16GB", "T4")), matching("V100M32", ("V100-16GB", "V100-32GB"))
    (('T4',), ('V100-32GB',))
    """
    if same := tuple(known for known in types if _plain(known) == _plain(name)):
        return same
    model, *stated = facts(name)
    return tuple(
        known
        for known in types
        if facts(known)[0] == model
        and all(not a or not b or a == b for a, b in zip(stated, facts(known)[1:], strict=True))
    )


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def on_cluster_types(table: Table, source: JobSource, gpus: Gpus, where: str) -> Table:
    """Return the table with the cluster's names of GPU types, by the rule of the source.

    A list keeps the types that the cluster has. A list without any is unchanged, or its jobs are left out
    (`gpu_types=drop`) or run on any GPU (`known`).

    Raises
    ------
    InputError
        If no job is left.
    """
    if _COLUMN not in table:
        return table
    asked = np.where(table["gpus"] > 0, table[_COLUMN], "")  # jobs without GPUs run on any machine
    counts = Counter(asked[asked != ""].tolist())
    rule = source.parameters.gpu_types if isinstance(source.parameters, TypedFileParameters) else "keep"
    if rule == "ignore" and counts:
        note = "%d of %d jobs ask for GPU types, and run on any (%s=ignore): %s"
        types = ", ".join(f"{text} ({jobs})" for text, jobs in counts.most_common(_MAX_NAMES))
        _log.warning(note, counts.total(), len(table), _SETTING, types, extra={"note": True})
        return table.without(_COLUMN)
    names = {name: matching(name, gpus.types) for name in dict.fromkeys(chain(*map(_names, counts)))}
    others = [f"{name} is {'|'.join(types)}" for name, types in names.items() if {name} - {*types} and types]
    if others:
        _log.info("GPU types of jobs: %s", ", ".join(others[:_MAX_NAMES]), extra={"note": True})
    lists = {text: "|".join(dict.fromkeys(chain(*(names[n] for n in _names(text))))) for text in counts}
    table = table.assign(**{_COLUMN: [lists.get(text) or text for text in asked.tolist()]})
    lacking = _lacking(table, gpus)
    if rule == "known" and lacking.any():
        note = "%d of %d jobs name GPU types that the cluster lacks, and run on any (%s=known): %s"
        lacked = ", ".join(dict.fromkeys(table[_COLUMN][lacking].tolist()))
        _log.warning(note, lacking.sum(), len(table), _SETTING, lacked, extra={"note": True})
        return table.assign(**{_COLUMN: np.where(lacking, "", table[_COLUMN])})
    if rule == "drop":
        reason = f"the cluster lacks their GPU types ({_SETTING}=drop)"
        table = rules.drop(table, lacking, Path(where), reason)
    return table


def check_types(table: Table, source: JobSource, gpus: Gpus, where: str) -> None:
    """Raise InputError for the first job of `on_cluster_types` for which the cluster has no GPU type."""
    if _COLUMN not in table:
        return
    lacking, allowed = _lacking(table, gpus), ", ".join(gpus.types) or "none: it has no GPUs"
    fault = f"names no GPU of the cluster, in {lacking.sum():,} of {len(table):,} jobs"
    if isinstance(source.parameters, TypedFileParameters):
        allowed += f"; or {_SETTING}=drop (leave such jobs out) or ignore (run all jobs on any GPU)"
    refuse(table, lacking, where, _COLUMN, fault, allowed)


def _lacking(table: Table, gpus: Gpus) -> Column:
    """Return whether each job names only GPU types that the cluster lacks, (n_jobs,) bool."""
    codes, lists = coded(table[_COLUMN])
    return np.array([text != "" and not {*_names(text)} & {*gpus.types} for text in lists])[codes]


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split("|")]
