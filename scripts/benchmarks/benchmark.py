"""Measure one benchmark case and print its table.

    python scripts/benchmarks/benchmark.py [CASE [ARGUMENT ...]]

Without a case, lists the cases of cases.py; README.md has their arguments. Times are processor times.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from cases import CASES


def table(rows: Iterable[Mapping[str, str | float]]) -> Iterator[str]:
    """Yield the heading and the lines of a table, each as soon as its row is measured."""
    for number, row in enumerate(rows):
        if not number:
            yield "".join(f"  {name:10}" if isinstance(row[name], str) else f"{name:>11}" for name in row)
        yield "".join(_cell(value) for value in row.values())


def _cell(value: str | float) -> str:
    if isinstance(value, str):
        return f"  {value:10}"
    return f"{value:11.3g}" if isinstance(value, float) else f"{value:11}"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table of a case, or the cases."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("case", nargs="?", choices=CASES, metavar="CASE")
    parser.add_argument("arguments", nargs="*", metavar="ARGUMENT")
    options = parser.parse_args(argv)
    if options.case is None:
        lines: Iterator[str] = (
            f"{name:12}{(case.__doc__ or '').splitlines()[0]}" for name, case in CASES.items()
        )
    else:
        lines = table(CASES[options.case](*options.arguments))
    for line in lines:
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
