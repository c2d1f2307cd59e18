"""Read road networks of the 9th DIMACS challenge: ``p sp NODES EDGES``, then ``a SOURCE TARGET WEIGHT`` for each edge.

Nodes are counted from 1; lines that begin with ``c`` are comments.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.extension import InputFileError, Scan, create_npy, described_files, graph_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.extension import Graph, ScanJob

ETYPE = "_N:_E:_N"
BYTES_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DimacsScan(Scan):
    """A file of that format."""

    path: str

    @classmethod
    def open(cls, given: Any) -> Scan | None:
        """Take paths that end in ``.gr``, and nothing else."""
        is_path = isinstance(given, (str, os.PathLike))
        return cls(os.fspath(given)) if is_path and os.fspath(given).endswith(".gr") else None

    @property
    def name(self) -> str:
        """Name of the graph."""
        return Path(self.path).stem

    @property
    def files(self) -> list[str]:
        """All files that are read."""
        return [self.path]

    def identity(self) -> dict[str, Any]:
        """Say what the graph depends on besides its files; change it when the same files give another graph."""
        return {"dimacs": 1}

    def outline(self) -> list[tuple[str, str]]:
        """Say what is known without reading, for `repr`."""
        return [("files", described_files(self.files))]

    def read(self, job: ScanJob) -> Graph:
        """Write edges and weights as arrays into the directory of the job, some lines at a time."""
        num_nodes, num_edges, first_edge = self._header()
        job.on_open(self.files)
        edges = create_npy(job.directory / "edges.npy", np.int64, (num_edges, 2))
        weights = create_npy(job.directory / "weights.npy", np.int64, (num_edges,))
        done = 0
        for rows in self._rows(first_edge) if not job.counts_only else ():
            if done + len(rows) > num_edges:
                raise self._fault("more edges than the header says", expected=f"{num_edges:,}")
            ends = rows[:, :2] - 1
            if ends.min() < 0 or ends.max() >= num_nodes:
                number = int(np.flatnonzero((ends < 0).any(axis=1) | (ends >= num_nodes).any(axis=1))[0])
                expected = f"nodes from 1 to {num_nodes:,}"
                raise self._fault(f"no such node in edge {done + number + 1:,}", expected, str(rows[number, :2]))
            edges.write(ends, done)
            weights.write(np.ascontiguousarray(rows[:, 2]), done)
            done += len(rows)
        if done < num_edges and not job.counts_only:
            raise self._fault("fewer edges than the header says", f"{num_edges:,}", f"{done:,}")
        return graph_of(self.name, {"_N": num_nodes}, {ETYPE: edges}, {ETYPE: {"weight": weights}})

    def _header(self) -> tuple[int, int, int]:
        """Return the numbers of nodes and edges, and the offset of what follows."""
        try:
            with open(self.path, "rb") as file:
                for line in iter(file.readline, b""):
                    words = line.split()
                    if words[:2] == [b"p", b"sp"] and len(words) == 4 and all(map(bytes.isdigit, words[2:])):
                        return int(words[2]), int(words[3]), file.tell()
                    if words and words[0] != b"c":
                        break
        except FileNotFoundError:
            raise self._fault("no such file") from None
        raise self._fault("no header", expected="a line such as 'p sp 264346 733846' before the edges")

    def _rows(self, offset: int) -> Iterator[np.ndarray]:
        """Yield sources, targets and weights, int64 (edges, 3)."""
        with open(self.path, "rb") as file:
            file.seek(offset)
            while piece := file.read(BYTES_AT_ONCE):
                piece += file.readline()  # up to the end of a line
                lines = b"\n" + piece
                if b"\nc" in lines:
                    lines = b"\n".join(line for line in lines.split(b"\n") if not line.startswith(b"c"))
                try:
                    numbers = np.fromstring(lines.replace(b"\na ", b"\n"), np.int64, sep=" ")
                    rows = numbers.reshape(lines.count(b"\na "), 3)
                except ValueError:
                    raise self._fault("not all lines are edges", expected="'a SOURCE TARGET WEIGHT'") from None
                if len(rows):
                    yield rows

    def _fault(self, what: str, expected: str | None = None, found: str | None = None) -> InputFileError:
        return InputFileError(what, file=self.path, expected=expected, found=found)
