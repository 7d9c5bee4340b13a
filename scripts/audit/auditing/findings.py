"""Comparisons of an audit, and the faults found."""

from math import isclose

MAX_SHOWN = 5
RELATIVE = 1e-12  # of statistics: sums and percentiles of floats


class Findings:
    """Comparisons by check, faults in words, and numbers that cannot be recounted.

    Parameters
    ----------
    grain_ns
        By how much a time of the run may be off when it is read: 0 until 2^53 ns (104 days), where seconds
        in 64-bit floats still tell every nanosecond.
    """

    def __init__(self, grain_ns: int) -> None:
        self.grain_ns = grain_ns
        self.compared: dict[str, int] = {}
        self.faults: dict[str, list[str]] = {}
        self.unknown: list[str] = []

    def hold(
        self, check: str, good: bool, text: str, *values: object, job: str = "", machine: str = ""
    ) -> bool:
        """Count one comparison; if it fails, note the fault: a text with {} for each of the values."""
        self.compared[check] = self.compared.get(check, 0) + 1
        if not good:
            where = [f"job {job}"] * bool(job) + [f"machine {machine}"] * bool(machine)
            parts = [*([", ".join(where)] if where else []), text.format(*values)]
            self.faults.setdefault(check, []).append(": ".join(parts))
        return good

    def same(self, check: str, ours: object, written: object, *, job: str = "") -> bool:
        """Compare two values that must be equal; floats may differ by RELATIVE."""
        if isinstance(ours, float) and isinstance(written, int | float):
            equal = isclose(ours, written, rel_tol=RELATIVE, abs_tol=RELATIVE)
        else:
            equal = ours == written
        return self.hold(check, equal, "recounted {}, written {}", ours, written, job=job)

    def same_time(
        self,
        check: str,
        ours_ns: int | None,
        written_s: float | None,
        *,
        job: str = "",
        steps: int = 1,
        slack_ns: int = 0,
    ) -> bool:
        """Compare a time to `slack_ns`, or to the grain of each of the `steps` that it is the sum of."""
        if ours_ns is None or written_s is None:
            return self.same(check, ours_ns, written_s, job=job)
        slack_ns += self.grain_ns * steps
        equal = ours_ns / 1e9 == written_s or abs(ours_ns - written_s * 1e9) <= slack_ns
        text = "recounted {:.9f} s, written {:.9f} s"
        return self.hold(check, equal, text, ours_ns / 1e9, written_s, job=job)

    def lines(self) -> list[str]:
        """Return a line a check, and below it its first faults."""
        lines = []
        for check, count in self.compared.items():
            faults = self.faults.get(check, [])
            verdict = f"WRONG {len(faults):>6,} of" if faults else "ok"
            lines.append(f"  {verdict:<15} {count:>9,}  {check}")
            lines += [f"    {fault}" for fault in faults[:MAX_SHOWN]]
            if len(faults) > MAX_SHOWN:
                lines.append(f"    and {len(faults) - MAX_SHOWN:,} more")
        return lines + [f"  not recounted: {text}" for text in self.unknown]
