"""Settings, values and presets of earlier versions, with their replacements."""

from artist.errors import InputError

_REPLACEMENTS = {  # end of a field, field=value or group=preset of an earlier version: allowed now
    "most_beyond": "max_beyond, its new name",
    "most_jobs": "max_jobs, its new name",
    "most_packets": "max_packets, its new name",
}


def with_replacement(error: InputError) -> InputError:
    """Return an error that names the replacement of an earlier version's setting; other errors unchanged."""
    in_defaults = str(error.found).replace("/", "=", 1)  # group/preset
    for wrong in (error.where, f"{error.where}={error.found}", in_defaults):
        for ending, allowed in _REPLACEMENTS.items():
            if f".{wrong}".endswith(f".{ending}"):
                return InputError(error.what, where=error.where, found=error.found, allowed=allowed)
    return error
