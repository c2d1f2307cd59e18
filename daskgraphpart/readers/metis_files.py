"""`MetisScan`: graphs in the files of partitioners, METIS' text and ParHIP's binary form.

METIS (manual of 5.1, section 4.1.1): ``n m [fmt [ncon]]``, then a line per node, ``[size] [weights] neighbour [weight]
...``, counted from 1; comments begin with ``%``. ParHIP (KaHIP 3.17, user guide): uint64 version 3, n and arcs; n + 1
offsets in bytes; arcs. Both list an edge at both of its ends, and so do we: there is one edge in each direction.

Pieces of the file are parsed in turn, whatever the length of its lines, into files of rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daskgraphpart.extension import (
    DEFAULT_ETYPE,
    DEFAULT_NTYPE,
    Graph,
    InputFileError,
    Region,
    Scan,
    ScanJob,
    attach_path_to_error,
    create_npy,
    described_files,
    graph_of,
)
from daskgraphpart.kernels.parse_ints import parse_adjacency

TEXT, BINARY = (".graph", ".metis"), (".bgf", ".parhip")
PIECE_NBYTES = 1 << 20
PARHIP_VERSION = 3
INT64 = np.dtype(np.int64)
_HEADER = "n m [fmt [ncon]]: nodes, edges, and up to three digits 0 or 1 (sizes, node weights, edge weights)"
_FAULTS = {1: "not a number", 2: "too large a number", 3: "a weight is missing"}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MetisScan(Scan):
    """A graph in one file of METIS or ParHIP."""

    path: str
    name = "graph"

    @classmethod
    def open(cls, given: Any) -> Scan | None:
        """Return a scan of a file that is named as METIS' and ParHIP's are."""
        is_path = isinstance(given, (str, os.PathLike))
        return cls(os.path.abspath(given)) if is_path and str(given).endswith((*TEXT, *BINARY)) else None

    @property
    def files(self) -> list[str]:
        """The file."""
        return [self.path]

    def identity(self) -> dict[str, Any]:
        """Name what reads the file."""
        return {"reader": "metis"}

    def outline(self) -> list[tuple[str, str]]:
        """Name the file, and its size."""
        return [("file", described_files(self.files))]

    def read(self, job: ScanJob) -> Graph:
        """Read the file once, front to back."""
        job.on_open(self.files)
        is_text = self.path.endswith(TEXT)
        header = (_read_header if is_text else _read_parhip_header)(self.path)
        if job.counts_only and not job.edge_weights:
            files = {name: Region("", 0, INT64, shape) for name, shape in header.shapes.items()}
        else:
            files = {name: create_npy(job.directory / f"{name}.npy", INT64, of) for name, of in header.shapes.items()}
            job.runner.progress.begin("read-adjacency", 1, os.path.getsize(self.path))
            starts = dict.fromkeys(files, 0)
            for piece in (_parse if is_text else _read_parhip)(self.path, header):
                for name, values in piece.items():
                    files[name].write(values, starts[name])
                    starts[name] += len(values)
            job.runner.progress.end()
        of_edges = {"weight": files["edge_weights"]} if header.has_edge_weights else {}
        shape = (header.num_nodes, header.num_weights)
        of_nodes = (
            {"weight": replace(files["node_weights"], shape=shape if shape[1] > 1 else shape[:1])} if shape[1] else {}
        )
        data = {DEFAULT_NTYPE: of_nodes, DEFAULT_ETYPE: of_edges}
        return graph_of(self.name, {DEFAULT_NTYPE: header.num_nodes}, {DEFAULT_ETYPE: files["edges"]}, data)


@dataclass(frozen=True, slots=True)
class Header:
    """What the first line says: numbers of nodes, arcs and weights per node; `begin` is the byte after it."""

    num_nodes: int
    num_arcs: int
    begin: int
    has_sizes: bool = False  # which are no weights, and left out
    num_weights: int = 0
    has_edge_weights: bool = False

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the arrays that are there; weights of nodes are flat."""
        weights = {"node_weights": (self.num_nodes * self.num_weights,), "edge_weights": (self.num_arcs,)}
        there = {"node_weights": self.num_weights, "edge_weights": self.has_edge_weights}
        return {"edges": (self.num_arcs, 2), **{name: shape for name, shape in weights.items() if there[name]}}


def _read_header(path: str) -> Header:
    """Read the first line that is no comment."""
    line = b"%"
    with attach_path_to_error(path), open(path, "rb") as file:
        while line.startswith(b"%"):
            line = file.readline(PIECE_NBYTES).lstrip() or file.readline(PIECE_NBYTES)
        begin = file.tell()
    words = line.split()
    flags = words[2].rjust(3, b"0") if words[2:] else b"000"
    is_right = 2 <= len(words) <= 4 and all(word.isdigit() for word in words) and not flags.strip(b"01")
    if not is_right or len(flags) != 3:
        text = line[:80].decode(errors="replace").strip()
        raise InputFileError("not a METIS file", file=path, place="first line", expected=_HEADER, found=repr(text))
    num_nodes, num_edges = map(int, words[:2])
    has_sizes, has_weights, has_edge_weights = (flag == ord("1") for flag in flags)
    num_weights = int(words[3]) if words[3:] else 1
    return Header(num_nodes, 2 * num_edges, begin, has_sizes, num_weights * has_weights, has_edge_weights)


def _parse(path: str, header: Header) -> Iterator[dict[str, np.ndarray]]:
    """Yield the rows of each array, in order. The state is the node, its fields so far, and whether in a comment."""
    state, num_arcs, rest, is_end = np.zeros(3, np.int64), 0, b"", False
    with attach_path_to_error(path), open(path, "rb") as file:
        file.seek(header.begin)
        while not is_end:
            read = file.read(PIECE_NBYTES)
            is_end, content = not read, rest + (read or b"\n")
            stop = max(content.rfind(mark) for mark in (b" ", b"\n", b"\t")) + 1
            content, rest = content[:stop], content[stop:]
            piece = _parse_piece(path, header, content, state)
            num_arcs += len(piece["edges"])
            num_lines = int(state[0]) + bool(state[1])
            is_more = num_lines > header.num_nodes or num_arcs > header.num_arcs
            if is_more or (is_end and (num_lines, num_arcs) != (header.num_nodes, header.num_arcs)):
                each = f"{header.num_nodes:,} lines with {header.num_arcs:,} neighbours, each edge at both of its ends"
                lines = f"{'at least ' * (not is_end)}{num_lines:,} lines with {num_arcs:,} neighbours"
                raise InputFileError("not what the first line says", file=path, expected=each, found=lines)
            yield piece


def _parse_piece(path: str, header: Header, content: bytes, state: np.ndarray) -> dict[str, np.ndarray]:
    """Parse text that ends where no number goes on."""
    most = len(content) // 2 + 1  # numbers
    arcs, weights, values = np.empty((most, 2), np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    form = np.array([header.num_nodes, header.has_sizes, header.num_weights, header.has_edge_weights])
    counts = np.zeros(3, np.int64)
    fault = parse_adjacency(np.frombuffer(content, np.uint8), form, state, arcs, weights, values, counts)
    place = f"line of node {int(state[0]) + 1:,}"
    if fault:
        raise InputFileError(_FAULTS[fault], file=path, place=place)
    arcs = arcs[: counts[0]]
    bad = np.flatnonzero((arcs[:, 1] < 0) | (arcs[:, 1] >= header.num_nodes))
    if bad.size:
        of, neighbour = (int(end) + 1 for end in arcs[bad[0]])
        expected = f"a node from 1 to {header.num_nodes:,}"
        raise InputFileError(
            "no such node", file=path, place=f"line of node {of:,}", expected=expected, found=neighbour
        )
    piece = {"edges": arcs, "edge_weights": weights[: counts[1]], "node_weights": values[: counts[2]]}
    return {name: piece[name] for name in header.shapes}


def _read_parhip_header(path: str) -> Header:
    """Read and check the first three numbers."""
    with attach_path_to_error(path), open(path, "rb") as file:
        words = np.frombuffer(file.read(24), "<u8")
    nbytes = os.path.getsize(path)
    version, num_nodes, num_arcs = map(int, words) if len(words) == 3 else (0, 0, 0)
    if version != PARHIP_VERSION or nbytes != 8 * (4 + num_nodes + num_arcs):
        expected = "version 3, without weights: 4 + nodes + arcs numbers of 64 bits"
        actual = f"version {version}, {nbytes:,} bytes"
        raise InputFileError("not a file of ParHIP", file=path, expected=expected, found=actual)
    return Header(num_nodes, num_arcs, 24)


def _read_parhip(path: str, header: Header) -> Iterator[dict[str, np.ndarray]]:
    """Yield the arcs in order."""
    num_nodes, num_arcs, begin = header.num_nodes, header.num_arcs, 8 * (4 + header.num_nodes)
    offsets = Region(path, header.begin, np.dtype("<u8"), (num_nodes + 1,)).memmap()
    ends = Region(path, begin, np.dtype("<u8"), (num_arcs,))
    step = PIECE_NBYTES // 8
    for start in range(0, num_arcs, step):
        stop = min(start + step, num_arcs)
        first, last = np.searchsorted(offsets, [begin + 8 * start, begin + 8 * (stop - 1)], "right").tolist()
        borders = np.clip((offsets[first - 1 : last + 1].astype(np.int64) - begin) // 8, start, stop)
        arcs = np.empty((stop - start, 2), np.int64)
        arcs[:, 0] = np.repeat(np.arange(first - 1, last), np.diff(borders))
        arcs[:, 1] = ends.read(start, stop)
        if (arcs[:, 1] >= num_nodes).any() or (arcs[:, 1] < 0).any():
            raise InputFileError(
                "no such node", file=path, place=f"arcs {start:,} to {stop:,}", expected=f"[0, {num_nodes:,})"
            )
        yield {"edges": arcs}
