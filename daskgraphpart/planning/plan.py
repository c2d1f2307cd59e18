"""The noun `Plan`: what a job will read, write, hold and take; as text, HTML and JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from daskgraphpart.tables import html_table, text_table
from daskgraphpart.units import format_count, format_seconds, format_size

if TYPE_CHECKING:
    from collections.abc import Sequence

VERSION = 1


@dataclass(frozen=True, slots=True)
class PlannedPass:
    """All runs of one pass.

    Parameters
    ----------
    name : str
        Name of the pass, as progress and dashboard have it.
    num_units : int
        Tasks.
    moved : int
        Bytes by which its progress is counted.
    bytes_read, bytes_written : int
        Bytes it reads and writes; files that are looked up through memory maps are not counted.
    task_memory : int
        Most that one task holds, in bytes.
    seconds : float
        Wall time.
    """

    name: str
    num_units: int
    moved: int
    bytes_read: int
    bytes_written: int
    task_memory: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What a job will read, write, hold and take.

    Parameters
    ----------
    graph_name : str
        Name of the graph.
    num_parts, num_nodes, num_edges : int
        Parts, nodes and edges.
    input_nbytes : int
        Size of all data files, in bytes.
    method, why : str
        The partitioner that would be taken, and the reason.
    passes : tuple of PlannedPass
        In the order in which they begin.
    output_nbytes : int
        Size of all partitions, in bytes.
    workspace_nbytes : int
        Most that temporary files take at one time, in bytes.
    workers : int
        Tasks that run at one time.
    memory_budget : int
        What all tasks may hold together, in bytes.
    worker_memory, peak_memory : int
        What one worker holds at most, and all processes with interpreter and libraries, in bytes.
    seconds : float
        Wall time.
    blocks : tuple of (str, int)
        What is cut into blocks, and how large they are.
    machine : tuple of (str, float)
        Speeds that were measured: bytes per second of the disk, and how many times slower a kernel is than where the
        speeds of passes were measured.
    assumptions : tuple of str
        What was taken for granted where only the data would tell.
    warnings : tuple of str
        Why it may not fit.
    """

    graph_name: str
    num_parts: int
    num_nodes: int
    num_edges: int
    input_nbytes: int
    method: str
    why: str
    passes: tuple[PlannedPass, ...]
    output_nbytes: int
    workspace_nbytes: int
    workers: int
    memory_budget: int
    worker_memory: int
    peak_memory: int
    seconds: float
    blocks: tuple[tuple[str, int], ...]
    machine: tuple[tuple[str, float], ...]
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def bytes_read(self) -> int:
        """Bytes that all passes read."""
        return sum(of.bytes_read for of in self.passes)

    @property
    def bytes_written(self) -> int:
        """Bytes that all passes write."""
        return sum(of.bytes_written for of in self.passes)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for JSON; ``"version"`` tells the form."""
        content = asdict(self)
        sums = {"bytes_read": self.bytes_read, "bytes_written": self.bytes_written}
        return {"version": VERSION, **content, "blocks": dict(self.blocks), "machine": dict(self.machine), **sums}

    def __str__(self) -> str:
        table = text_table(PASS_HEADERS, self._rows(), align="<>>>>>")
        width = max(len(name) for name, _ in self._facts())
        facts = "\n".join(f"{name:<{width}}  {value}" for name, value in self._facts())
        lines = [f"plan of {self._title()}", "", table, "", facts]
        lines += ["", "assumed:", *(f"- {line}" for line in self.assumptions)]
        lines += [f"warning: {line}" for line in self.warnings]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        passes = html_table(PASS_HEADERS, self._rows(), caption=f"Plan of {self._title()}")
        notes = [["assumed", line] for line in self.assumptions] + [["warning", line] for line in self.warnings]
        return passes + html_table(["", ""], [*(list(fact) for fact in self._facts()), *notes])

    def _title(self) -> str:
        counts = f"{format_count(self.num_nodes)} nodes, {format_count(self.num_edges)} edges"
        return f"{self.graph_name!r} in {self.num_parts} parts: {counts}"

    def _rows(self) -> list[list[str]]:
        rows = [
            [
                of.name,
                format_count(of.num_units),
                format_size(of.bytes_read),
                format_size(of.bytes_written),
                format_size(of.task_memory),
                format_seconds(of.seconds),
            ]
            for of in self.passes
        ]
        total = [format_size(self.bytes_read), format_size(self.bytes_written), "", format_seconds(self.seconds)]
        return [*rows, ["all", format_count(sum(of.num_units for of in self.passes)), *total]]

    def _facts(self) -> list[tuple[str, str]]:
        memory = f"{format_size(self.peak_memory)} in all, {format_size(self.worker_memory)} for each of the tasks"
        return [
            ("method", f"{self.method}: {self.why}"),
            ("input", format_size(self.input_nbytes)),
            ("output", format_size(self.output_nbytes)),
            ("workspace", f"{format_size(self.workspace_nbytes)} at its peak"),
            ("memory", f"{memory} ({self.workers} at one time, budget {format_size(self.memory_budget)})"),
            ("blocks", ", ".join(f"{format_count(size)} {name}" for name, size in self.blocks)),
            ("time", f"about {format_seconds(self.seconds)}"),
        ]


PASS_HEADERS: Sequence[str] = ("pass", "units", "read", "written", "memory of a task", "time")
