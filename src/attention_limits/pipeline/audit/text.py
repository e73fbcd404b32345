"""The audit as text: a full table for the docs, a short one for docs/accuracy.md, and plain data."""

import math
from collections.abc import Iterable
from dataclasses import asdict

from attention_limits.pipeline.audit.table import Published, Row

NOTE = """\
This page lists every published number that a cube can check, in the notation of docs/notation.md. Our number is the mean over
replicas, with its standard error in brackets, in units of the last digits. A number without brackets has no random error. The
error of a published number is its stated error, or half of its last digit. The distance is (ours - published), divided by the
root of the sum of both squared errors. Two numbers *agree* when their distance is at most three."""


def number_text(value: float, error: float) -> str:
    """A number with its error in brackets, in units of the last digits: .2028(2) is written 0.2028(2)."""
    if error <= 0:
        return f"{value:.4g}"
    digits = max(0, 1 - math.floor(math.log10(error) + 1e-9))
    # One digit of the error, two where the first is a 1.
    if round(error * 10**digits) >= 20:
        digits -= 1
    digits = max(digits, 0)
    return f"{value:.{digits}f}({round(error * 10**digits)})"


def full_table(rows: Iterable[Row]) -> str:
    """Markdown with one section per family and one line per number; reasons and evidence below each table."""
    parts = ["# Published numbers, and ours", "", NOTE, ""]
    rows = list(rows)
    parts += [f"{len(rows)} numbers: {counts(rows)}.", ""]
    for family in dict.fromkeys(row.published.family for row in rows):
        own = [row for row in rows if row.published.family == family]
        parts += [f"## {family}", "", "| Quantity | Published | Ours | Distance | Verdict | Source |"]
        parts += ["|---|---|---|---|---|---|"]
        parts += [_cells(row) for row in own]
        parts += ["", "Evidence, and reasons of the differences:", ""]
        for (reason, evidence), names in _grouped(own).items():
            parts.append(f"- {'; '.join(names)}: {reason + ' ' if reason else ''}`{evidence}`")
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def counts(rows: Iterable[Row]) -> str:
    """The number of each verdict, in words."""
    verdicts = [row.verdict for row in rows]
    return ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in sorted(set(verdicts)))


def short_table(rows: Iterable[Row]) -> str:
    """Markdown with the numbers that are not reproduced, one line per reason; of more than four the first, middle and last."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row.verdict in ("differs", "unexplained"):
            groups.setdefault(row.published.reason or "unexplained", []).append(row)
    lines = ["| Quantity | Published | Ours | Why |", "|---|---|---|---|"]
    for why, group in groups.items():
        shown = group if len(group) <= 4 else [group[0], group[len(group) // 2], group[-1]]
        names = "; ".join(row.published.quantity for row in shown)
        if len(shown) < len(group):
            names += f" (and {len(group) - len(shown)} more)"
        published = "; ".join(f"{row.published.published:g}" for row in shown)
        ours = "; ".join(number_text(row.value, row.error) for row in shown)
        lines.append(f"| {names} | {published} | {ours} | {why} |")
    return "\n".join(lines) + "\n"


def plain(rows: Iterable[Row]) -> list[dict]:
    """The rows as data for JSON."""
    return [
        {
            **asdict(row.published),
            "ours": row.value,
            "error": row.error,
            "distance": row.distance,
            "verdict": row.verdict,
        }
        for row in rows
    ]


def from_plain(data: Iterable[dict]) -> list[Row]:
    """The inverse of `plain`."""
    rows = []
    for item in data:
        own = {key: value for key, value in item.items() if key not in ("ours", "error", "distance", "verdict")}
        rows.append(Row(Published(**{**own, "cubes": tuple(own["cubes"])}), item["ours"], item["error"]))
    return rows


def _cells(row: Row) -> str:
    ours, distance = "", ""
    if row.distance is not None:
        ours, distance = number_text(row.value, row.error), f"{row.distance:+.1f}"
    published = row.published
    return (
        f"| {published.quantity} | {published.published:g} ± {published.precision:g} | {ours} | {distance} | {row.verdict} "
        f"| {published.source} |"
    )


def _grouped(rows: list[Row]) -> dict[tuple[str, str], list[str]]:
    groups: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        reason = row.published.reason if row.verdict == "differs" else ""
        groups.setdefault((reason, row.published.evidence), []).append(row.published.quantity)
    return groups
