"""Findings of a check: one line each, with an example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from daskgraphpart.errors import printable
from daskgraphpart.public import Public
from daskgraphpart.units import format_number, format_seconds

VALUES_SHOWN, FINDINGS_SHOWN = 4, 20


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault."""

    check: str  # name of the check
    file: str  # file it was found in, relative to the partition config
    what: str  # what is wrong, with an example row or ID
    kind: str | None = None  # node or edge type
    row: int | None = None  # row or ID of the example: local to the part's arrays, or original without a part
    expected: str | None = None  # expected and actual value
    found: str | None = None
    count: int = 1  # number of rows with this fault, as far as counted
    part: int | None = None  # part with the fault

    def __str__(self) -> str:
        text = f"{self.check}: {self.file}: {self.what}"
        if self.expected is not None:
            text += f": expected {self.expected}"
        if self.found is not None:
            text += f"{': found' if self.expected is None else ', found'} {self.found}"
        text += f" (and {self.count - 1:,} more like it)" if self.count > 1 else ""
        return printable(text).replace("\n", "\\n")  # names and values come from the files


@dataclass(frozen=True, slots=True)
class VerifyReport(Public):
    """Result of `verify`."""

    findings: tuple[Finding, ...]  # everything wrong: each has `check`, `file`, `what`, `part` and an example `row`
    num_nodes: int = 0  # nodes compared with the input
    num_edges: int = 0  # edges compared with the input
    num_rows: int = 0  # feature rows compared with the input
    notes: tuple[str, ...] = ()  # what could not be checked, and why
    num_files: int = 0  # files whose checksums were compared
    seconds: float | None = field(default=None, compare=False)  # how long it took, if measured

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    def __repr__(self) -> str:
        return f"<verify: {self.summary if self.ok else self.faults}>"

    def __str__(self) -> str:
        if self.ok:
            return "\n".join([*self.notes, f"OK: {self.summary}"])
        shown = [str(finding) for finding in self.findings[:FINDINGS_SHOWN]]
        return "\n".join([*shown, f"{self.faults} found"])

    @property
    def faults(self) -> str:
        """Number of findings, as text."""
        return format_number(len(self.findings), "fault")

    @property
    def summary(self) -> str:
        """What matches."""
        checksums = format_number(self.num_files, "checksum")
        took = "" if self.seconds is None else format_seconds(self.seconds)
        if self.num_nodes == self.num_edges == 0:
            return f"{checksums} match{'es' if self.num_files == 1 else ''}{f' ({took})' if took else ''}"
        nodes, edges = format_number(self.num_nodes, "node"), format_number(self.num_edges, "edge")
        rows = format_number(self.num_rows, "feature row")
        return f"{nodes}, {edges} and {rows} match the input ({checksums}{f', {took}' if took else ''})"


def wrong_rows(
    check: str,
    file: str,
    what: str,
    wrong: np.ndarray,
    rows: int | np.ndarray,
    expected: str | np.ndarray,
    found: str | np.ndarray,
    kind: str | None = None,
) -> Iterator[Finding]:
    """Yield one finding if any row is wrong, with the first as example; `rows` are their IDs, or the first one."""
    if wrong.any():
        i = int(np.argmax(wrong))
        row = int(rows[i]) if isinstance(rows, np.ndarray) else rows + i
        values = [of if isinstance(of, str) else f"{of[i]:,}" for of in (expected, found)]
        yield Finding(check, file, f"{what} {row:,}", kind, row, values[0], values[1], int(np.count_nonzero(wrong)))


def differences(check: str, file: str, expected: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[Finding]:
    """Compare values by key; a missing one counts as None."""
    for key in {**expected, **found}:
        one, other = expected.get(key), found.get(key)
        if repr(one) == repr(other):
            continue
        if isinstance(one, list) and isinstance(other, list):
            says = show_difference(one, other)
        else:
            says = _shown(one), _shown(other)
        yield Finding(check, file, key, expected=says[0], found=says[1])


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    return f"{value:,}" if type(value) is int else str(value)[:200]


def show_difference(expected: Sequence[object], found: Sequence[object]) -> tuple[str, str]:
    """Show two vectors as short text, from their first difference on."""
    pairs = enumerate(zip(expected, found, strict=False))
    first = next((i for i, (one, other) in pairs if one != other), min(len(expected), len(found)))
    return show_from(expected, first), show_from(found, first)


def show_from(values: Sequence[object], first: int) -> str:
    """Show a few values of a vector: all, or those from `first` on."""
    first = first if len(values) > VALUES_SHOWN else 0
    shown = ", ".join(str(value) for value in values[first : first + VALUES_SHOWN])
    more = ", ..." if len(values) > first + VALUES_SHOWN else ""
    return f"[..., {shown}{more}] from element {first:,} on" if first else f"[{shown}{more}]"
