"""ParMETIS' programs of the branch `dgl` in plain numpy: same files in and out, parts at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path


def read_lines(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text().splitlines()]


def write_lines(path: Path, lines: list[list[object]]) -> None:
    path.write_text("".join(" ".join(map(str, line)) + "\n" for line in lines))


def pm_dglpart2(directory: Path, graph: str, num_parts: int, num_processes: int, seed: int = 0) -> np.ndarray:
    """Write `<graph>_part.<num_parts>`; the parts of all nodes by homogeneous ID."""
    num_nodes, num_edges, num_weights = map(int, read_lines(directory / f"{graph}_stats.txt")[0])
    nodes, edges = read_lines(directory / f"{graph}_nodes.txt"), read_lines(directory / f"{graph}_edges.txt")
    assert len(nodes) == num_nodes and len(edges) == num_edges
    assert all(len(line) == num_weights + 2 for line in nodes)
    pairs = [(line[0], line[1]) for line in edges]
    assert len(set(pairs)) == len(pairs) and all(src != dst for src, dst in pairs)
    parts = np.random.default_rng(seed).integers(0, num_parts, num_nodes)
    # each process writes the nodes it holds, one process after the other
    order = [node for process in range(num_processes) for node in range(process, num_nodes, num_processes)]
    write_lines(directory / f"{graph}_part.{num_parts}", [[node, parts[node]] for node in order])
    return parts


def pm_dglpart(directory: Path, graph: str, num_parts: int, seed: int = 0) -> np.ndarray:
    """Write `p%03d-<graph>_nodes.txt` and `_edges.txt`; the parts of all nodes by homogeneous ID."""
    nodes, edges = read_lines(directory / f"{graph}_nodes.txt"), read_lines(directory / f"{graph}_edges.txt")
    rng = np.random.default_rng(seed)
    parts = rng.integers(0, num_parts, len(nodes))
    ntypes = np.array([int(line[0]) for line in nodes], int)
    order = np.lexsort((rng.random(len(nodes)), ntypes, parts))  # any order inside a part and type
    new_nid = np.empty(len(nodes), int)
    new_nid[order] = np.arange(len(nodes))
    for part in range(num_parts):
        mine = [node for node in order if parts[node] == part]
        write_lines(directory / f"p{part:03d}-{graph}_nodes.txt", [[new_nid[n], *nodes[n]] for n in mine])
        owned = [line for line in edges if parts[int(line[1])] == part]
        owned = [owned[i] for i in rng.permutation(len(owned))]
        lines: list[list[object]] = [[new_nid[int(line[0])], new_nid[int(line[1])], *line] for line in owned]
        write_lines(directory / f"p{part:03d}-{graph}_edges.txt", lines)
    return parts
