"""Settings, values and presets of earlier versions, with their replacements."""

import re

from artist.errors import InputError

_RENAMED = ", its new name"
_MURI, _TICKS = "policy=muri_l_events", "policy.on_events=false policy.interval_s=360"
_TUNED = "policy=cpu_tuned policy@policy.of=NAME policy.mechanism"
_GONE = "none; scripts/validation/synergy_program.py in the repository has this"
_REPLACEMENTS = {  # end of a field, field=value or group=preset of an earlier version: allowed now
    "experiment=synergy_golden": "none; scripts/validation/agreement_synergy.py repeats this run",
    "fill=greedy": f"{_TUNED}=greedy policy.of.fill=as_asked",
    "fill=opt": f"{_TUNED}=opt",
    "fill=tune": f"{_TUNED}=tune",
    "contention=average": "mean_field, its new name",
    "contention=phases": "packets, its new name (with contention_packets=0 at flow level, as before)",
    "most_beyond": "max_beyond, its new name",
    "most_jobs": "max_jobs, its new name",
    "most_packets": "max_packets, its new name",
    "performance.stall": _GONE,
    "performance.whole_iterations_s": _GONE,
    "policy.compat": "policy=themis_muri, which has these units",
    "policy.least_free": _GONE,
    "policy.lowered": _GONE,
    "policy.weighted": _GONE,
    "policy=dally_manual_keep": "policy=dally_manual policy.renewal=keep",
    "policy=dally_manual_nearer": "policy=dally_manual policy.renewal=nearer",
    "policy=lyra_sjf": "policy=lyra_fifo policy.order=sjf policy.backfill=true",
    "policy=muri_l_2": f"{_MURI} policy.max_jobs=2",
    "policy=muri_l_3": f"{_MURI} policy.max_jobs=3",
    "policy=muri_l_no_blossom": f"{_MURI} policy.matching=priority",
    "policy=muri_l_worst_ordering": f"{_MURI} policy.ordering=worst",
    "policy=srsf_360": f"policy=srsf {_TICKS}",
    "policy=srtf_360": f"policy=srtf {_TICKS}",
    "policy=themis_muri_events": "policy=themis_muri policy.on_events=true policy.interval_s=null",
    "policy=tiresias_360": f"policy=tiresias_open {_TICKS}",
    "promote_knob": "leave it out: no job that starves is promoted, as with null before",
    "workload.utc_offset_h": "workload.time_zone, such as Asia/Shanghai, or Etc/GMT-8 for 8 h east of UTC",
    "skip": "backfill, its new name",
    "whole_machines=multiples": "workload.unit=machine, which keeps jobs of whole machines on whole ones",
}


def with_replacement(error: InputError) -> InputError:
    """Return an error that names the replacement of an earlier version's setting; other errors unchanged.

    A new name counts where it is one of the allowed ones.
    """
    in_defaults = str(error.found).replace("/", "=", 1)  # group/preset
    for wrong in (error.where, f"{error.where}={error.found}", in_defaults):
        for ending, allowed in _REPLACEMENTS.items():
            new, renamed, _ = allowed.partition(_RENAMED)
            is_there = not renamed or new in re.findall(r"\w+", error.allowed)
            if f".{wrong}".endswith(f".{ending}") and is_there:
                return InputError(error.what, where=error.where, found=error.found, allowed=allowed)
    return error
