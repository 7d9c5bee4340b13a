"""Contents of a report's folder: the page with its tables, figures and lists, and files beside it."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from artist.report.claims.by_figure import by_figure
from artist.report.claims.judge import Judged
from artist.report.claims.table import claim_notes, claims_csv, claims_not_run, claims_table
from artist.report.figures.catalogue import drawings
from artist.report.figures.facets import max_drawn
from artist.report.figures.glance import WIDTH_IN as GLANCE_IN
from artist.report.figures.glance import drawing as pictured
from artist.report.figures.seen import at_a_glance
from artist.report.images import all_drawn, drawn
from artist.report.page.comparison_table import comparison_table
from artist.report.page.gains_table import NOTE as GAINS_NOTE
from artist.report.page.gains_table import gains_table
from artist.report.page.grouped_tables import (
    TOP_MEMBERS,
    causes_table,
    costs_table,
    fairness_table,
    links_table,
    members_table,
    seen_table,
    sizes_table,
    steps_table,
)
from artist.report.page.page import TITLE, Glance, Section, report_page
from artist.report.words.answers import answers
from artist.report.words.cautions import cautions
from artist.report.words.fabrics import waiting_for_network
from artist.report.words.first_screen import Finding, first_screen, glance_table
from artist.report.words.job_types import job_types
from artist.report.words.notes import (
    CAUSES,
    COST_NOTE,
    FAIRNESS_NOTE,
    FOOTER,
    JOB_SIZES,
    LINKS,
    MORE_COLUMNS,
    PROFILING,
    SEEN_NOTE,
    about,
    comparison_notes,
    lead,
    member_notes,
)
from artist.report.words.policies import each_policy
from artist.report.words.pools import pools
from artist.report.words.seen import seen_answers, seen_glance, seen_note
from artist.report.words.setting import setting
from artist.report.words.wording import of_variants
from artist.results.compare import Comparison
from artist.results.csv_tables import changes_csv, comparison_csv, seeds_csv
from artist.results.digest import Digest, growing
from artist.results.fairness import Fairness
from artist.results.gains import gains
from artist.results.job_types import has_job_types, read_cpus_kept, read_interference, read_profiling
from artist.results.links import has_contention, top_contended
from artist.results.names import VARIANT
from artist.results.run import Run
from artist.results.scenarios import Contest
from artist.results.seen import ALL_CHANGED, have_seen, held
from artist.tables.grid import printable

_MAX_LINKS = 10  # of a row
CLAIMS, CHANGES = "claims.csv", "changes.csv"


def report_files(
    comparison: Comparison,
    competing: Contest,
    judged: Judged | None,
    failures: Sequence[tuple[Path, str]],
    output: Path,
    traces: Sequence[str],
    fair: Sequence[Sequence[Fairness]],
    digests: Sequence[Digest],
    title: str | None = None,
) -> dict[str, bytes]:
    """Return the files of a report by name, but for the traces, which its page links to.

    Parameters
    ----------
    failures
        Folder and message of each point that failed.
    fair, digests
        Slowdown and fairness of the runs of each row, and their digest.
    """
    drawn_rows = digests[: max_drawn(competing)]
    left_out = len(digests) - len(drawn_rows)
    note = f" The last {left_out} of {len(comparison.groups)} rows are not drawn." if left_out else ""
    if note:
        print(note.strip(), "Give fewer folders to see them.", file=sys.stderr)
    careful = cautions(comparison, competing, digests, [text for _, text in failures])
    overloaded = growing(digests)
    for topic, text in careful:
        print(printable(f"{topic.lower()}: {text}"), file=sys.stderr)
    files = {"table.csv": comparison_csv(comparison, fair).encode()}
    files["seeds.csv"] = seeds_csv(comparison, fair).encode()
    if competing.asked:
        files[CHANGES] = changes_csv(comparison, competing.baseline).encode()
    table = comparison_table(comparison, competing, overloaded)
    notes = comparison_notes(comparison, competing, overloaded)
    tables = [Section("comparison", "Comparison", table, tuple(notes), (MORE_COLUMNS,))]
    tables += _if_known(comparison, fair)
    changes = gains(comparison, competing)
    if (by_group := gains_table(comparison, changes)) is not None:
        tables.append(Section("gains", "Who gains, who pays", by_group, (GAINS_NOTE,)))
    held, absent = list[Finding](), list[Finding]()
    if judged is not None:
        head = f"Claims of {judged.file.paper}"
        tables.insert(0, Section("claims", head, claims_table(judged), claim_notes(judged)))
        files[CLAIMS] = claims_csv(judged).encode()
        held, absent = _held(judged), claims_not_run(judged)
    figures = []
    for figure, images in all_drawn(drawings(drawn_rows, comparison, competing), note):
        figures.append(figure)
        files |= images
    pairs = zip(traces, comparison.groups, strict=False)
    older = [_entry(run.summary["policy"], run, output) for run in comparison.older]
    lists = (
        ("Failed", [(f"{folder}: {' '.join(text.split())}", "") for folder, text in failures]),
        ("Left out: older runs of the same configuration", older),
        ("Traces, to open in ui.perfetto.dev", [(f"{group.name}:", name) for name, group in pairs]),
        ("Runs", [_entry(group.name, run, output) for group in comparison.groups for run in group.runs]),
    )
    more = [
        *waiting_for_network(comparison),
        *pools(digests),
        *job_types(comparison, competing, _interference(comparison)),
    ]
    findings = answers(comparison, competing, digests, careful, changes)
    folded = list[Finding]()
    if have_seen(comparison.groups):
        cautious, folded = findings[: len(careful)], findings[len(careful) :]
        findings, glance, images = _of_site(comparison, competing)
        findings = findings + cautious
    else:
        figure, images = drawn(pictured(comparison.groups, competing), "", GLANCE_IN, GLANCE_IN)
        glance = Glance(*glance_table(comparison, competing, overloaded), "", figure)
    top, lines, whole = first_screen(findings)
    policies = each_policy(comparison, competing, digests) if comparison.has_choice else []
    if VARIANT in comparison.keys:
        top, lines, whole, folded, more = map(of_variants, (top, lines, whole, folded, more))
    page = report_page(
        title or TITLE,
        lead(comparison),
        about(comparison),
        held + top,
        lines,
        glance,
        (
            ("More on these findings", whole),
            (f"Claims that were not run: {len(absent)}", absent),
            ("Findings on completion times (JCT: from a job's submission to its finish)", folded),
            ("Every policy in a sentence", policies),
            ("More findings", more),
            ("What was simulated and assumed", setting(comparison)),
        ),
        tables,
        figures,
        [
            *_causes_section(comparison),
            *_links_section(comparison),
            *_steps_section(comparison),
            *_member_sections(comparison, digests),
        ],
        lists,
        FOOTER,
    )
    return {"report.html": page.encode()} | files | images


def _if_known(comparison: Comparison, fair: Sequence[Sequence[Fairness]]) -> list[Section]:
    """Return the tables of what only some runs have."""
    optional = (
        ("seen", "Seen against simulated", seen_table(comparison), SEEN_NOTE),
        ("sizes", "Jobs by size", sizes_table(comparison.groups), JOB_SIZES),
        ("fairness", "Slowdown and fairness", fairness_table(comparison.groups, fair), FAIRNESS_NOTE),
        ("costs", "Energy and money", costs_table(comparison.groups), COST_NOTE),
    )
    return [Section(key, head, of, (text,)) for key, head, of, text in optional if of is not None]


def _held(judged: Judged) -> list[Finding]:
    """Return the claims that hold, by figure, and how many were not run."""
    absent = sum(not row.was_run for row in judged.rows)
    told = [*by_figure(judged), *[f"{absent} of {len(judged.rows)} claims were not run."] * bool(absent)]
    return [(f"What of {judged.file.paper} holds?", " ".join(told))]


def _of_site(
    comparison: Comparison, competing: Contest
) -> tuple[list[Finding], Glance | None, dict[str, bytes]]:
    """Return answers, first screen and files of runs whose site's waits are known."""
    site = held(comparison, comparison.groups[competing.baseline[0]] if competing.asked else None)
    if site is None:
        return [("Can I believe it?", ALL_CHANGED)], None, {}
    figure, images = drawn(at_a_glance(site.today))
    return seen_answers(site), Glance(*seen_glance(site), seen_note(site), figure), images


def _interference(comparison: Comparison) -> dict[int, float]:
    """Return by row, where runs have both kinds of jobs, the share of the time of GPU jobs that it took."""
    rows = [row for row, group in enumerate(comparison.groups) if all(map(has_job_types, group.runs))]
    shares = {row: read_interference(comparison.groups[row].runs) for row in rows}
    return {row: share for row, share in shares.items() if share is not None}


def _causes_section(comparison: Comparison) -> list[Section]:
    table = causes_table(comparison.groups)
    return [] if table is None else [Section("causes", "Failures by cause", table, (CAUSES,))]


def _links_section(comparison: Comparison) -> list[Section]:
    with_links = [group for group in comparison.groups if all(map(has_contention, group.runs))]
    table = links_table({group.name: top_contended(group.runs, _MAX_LINKS) for group in with_links})
    return [] if table is None else [Section("links", "Most contended links", table, (LINKS,))]


def _steps_section(comparison: Comparison) -> list[Section]:
    steps = {group.name: counts for group in comparison.groups if (counts := read_profiling(group))}
    kept = {group.name: read_cpus_kept(group.runs) for group in comparison.groups if group.name in steps}
    table = steps_table(steps, kept)
    return [] if table is None else [Section("steps", "Profiling steps", table, (PROFILING,))]


def _member_sections(comparison: Comparison, digests: Sequence[Digest]) -> list[Section]:
    sections = []
    for name, title, word in (("vcs", "Virtual clusters", "VC"), ("users", "Users", "user")):
        table = members_table(name, word, digests)
        if table:
            count = min(TOP_MEMBERS, len({row[0].text for row in table.rows}))
            sections.append(Section(name, title, table, tuple(member_notes(comparison, count))))
    return sections


def _entry(name: str, run: Run, output: Path) -> tuple[str, str]:
    """Return a run's entry in a list: text, and the path from the page, so that both can be moved."""
    way = Path(os.path.relpath(run.folder.resolve(), output.resolve())).as_posix()
    return f"{name}, seed {run.summary['seed']}:", f"{way}/"
