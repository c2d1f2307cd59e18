"""Name the files that ParMETIS' programs read and write, and find out which of them a path holds.

`pm_dglpart`, `pm_dglpart2` and `pm_dglpart3` are on the branch `dgl` of ParMETIS; DGL's user guide 7.1 (0.7 and 0.8)
describes the files. They look for their input in the working directory, so one directory holds the files of a graph.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from daskgraphpart.errors import AssignmentError, InputFileNotFoundError, OptionError

if TYPE_CHECKING:
    from pathlib import Path

PART_SUFFIX = r"_part\.([1-9]\d*)"


@dataclass(frozen=True, slots=True)
class ParmetisFiles:
    """The files of one graph in one directory."""

    directory: Path
    graph: str

    @property
    def nodes(self) -> Path:
        """Lines `ntype weights... type_nid`; the line number is the homogeneous ID."""
        return self.directory / f"{self.graph}_nodes.txt"

    @property
    def edges(self) -> Path:
        """Lines `src dst type_eid etype`, in homogeneous IDs."""
        return self.directory / f"{self.graph}_edges.txt"

    @property
    def removed_edges(self) -> Path:
        """Self-loops and repeated edges, in the same columns."""
        return self.directory / f"{self.graph}_removed_edges.txt"

    @property
    def schema(self) -> Path:
        """JSON with the ranges of homogeneous IDs of all types."""
        return self.directory / f"{self.graph}.json"

    @property
    def stats(self) -> Path:
        """One line, `num_nodes num_edges num_node_weights`; written last."""
        return self.directory / f"{self.graph}_stats.txt"

    @property
    def all(self) -> tuple[Path, ...]:
        """All of these, in the order in which they are written."""
        return self.nodes, self.edges, self.removed_edges, self.schema, self.stats

    def of_part(self, part: int, kind: str) -> Path:
        """What `pm_dglpart` writes: lines `new_nid <line of nodes>`, or `new_src new_dst <line of edges>`."""
        return self.directory / f"p{part:03d}-{self.graph}_{kind}.txt"


@dataclass(frozen=True, slots=True)
class PartFiles:
    """Parts as ParMETIS has written them: one file of `pm_dglpart2`, or one for each part, of `pm_dglpart`.

    The number of weights in a line of nodes is None if it was not given.
    """

    paths: tuple[Path, ...]
    num_parts: int
    by_part: bool
    num_node_weights: int | None = None


def holds_parts(path: Path, graph: str) -> bool:
    """Whether a path is a file, or a directory with files that are named like output of ParMETIS."""
    return path.is_file() or (path.is_dir() and any(_found(path, graph)))


def find_parts(
    path: Path, graph: str, num_parts: int | None, num_node_weights: int | None = None, *, by_part_only: bool = False
) -> PartFiles:
    """Find the output of ParMETIS."""
    if num_node_weights is not None and num_node_weights < 0:
        raise OptionError("impossible number", place="--num-node-weights", expected="0 or more", found=num_node_weights)
    if path.is_file() and not by_part_only:
        return _one_file(path, num_parts)
    if not path.is_dir():
        raise InputFileNotFoundError("no such file or directory", file=str(path), hint="give the output of ParMETIS")
    single, by_part = _found(path, graph)
    single = {} if by_part_only else {k: file for k, file in single.items() if k == num_parts} or single
    if not single and not by_part:
        of_part = f"p000-{graph}_nodes.txt and so on"
        raise InputFileNotFoundError(
            f"no output of {'pm_dglpart' if by_part_only else 'ParMETIS'} for graph {graph!r}",
            file=str(path),
            expected=of_part if by_part_only else f"{graph}_part.<num_parts>, or {of_part}",
        )
    if len(single) + bool(by_part) > 1:
        found = [file.name for file in (*single.values(), *by_part.values())]
        raise OptionError(
            "several outputs of ParMETIS to choose from",
            file=str(path),
            found=", ".join(found[:4]) + (" ..." if len(found) > 4 else ""),
            hint="give one file, or the number of parts",
        )
    if by_part:
        return replace(_by_part(path, graph, by_part, num_parts), num_node_weights=num_node_weights)
    return _one_file(next(iter(single.values())), num_parts)


def _found(directory: Path, graph: str) -> tuple[dict[int, Path], dict[int, Path]]:
    """Files of `pm_dglpart2` by number of parts, and files of nodes of `pm_dglpart` by part."""
    name = re.escape(graph)
    patterns = re.compile(name + PART_SUFFIX), re.compile(rf"p(\d{{3}}|[1-9]\d{{3,}})-{name}_nodes\.txt")
    single, by_part = (
        {int(match[1]): path for path in directory.iterdir() if (match := pattern.fullmatch(path.name))}
        for pattern in patterns
    )
    return dict(sorted(single.items())), dict(sorted(by_part.items()))


def _one_file(path: Path, num_parts: int | None) -> PartFiles:
    suffix = re.search(PART_SUFFIX + "$", path.name)
    named = int(suffix[1]) if suffix else None
    if named is None and num_parts is None:
        raise OptionError(
            "the name of the file does not tell the number of parts",
            file=str(path),
            expected="<graph>_part.<num_parts>",
            hint="give --num-parts",
        )
    if named is not None and num_parts not in (None, named):
        raise AssignmentError(
            "the file is for another number of parts", file=str(path), expected=num_parts, found=named
        )
    return PartFiles((path,), named or num_parts or 0, by_part=False)


def _by_part(directory: Path, graph: str, found: dict[int, Path], num_parts: int | None) -> PartFiles:
    parts = num_parts if num_parts is not None else max(found) + 1
    if max(found) >= parts:
        raise AssignmentError(
            "the files are for another number of parts", file=str(found[max(found)]), expected=f"parts below {parts}"
        )
    missing = next((part for part in range(parts) if part not in found), None)
    if missing is not None:
        raise InputFileNotFoundError(
            "no nodes of this part",
            file=str(ParmetisFiles(directory, graph).of_part(missing, "nodes")),
            hint=f"each of {parts} parts has a file; copy those of all machines into one directory",
        )
    return PartFiles(tuple(found.values()), parts, by_part=True)
