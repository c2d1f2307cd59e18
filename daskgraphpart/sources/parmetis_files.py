"""Name the files that ParMETIS' programs read and write, and find out which of them a path holds.

`pm_dglpart`, `pm_dglpart2` and `pm_dglpart3` are on the branch `dgl` of ParMETIS; DGL's user guide 7.1 (0.7 and 0.8)
describes the files. They look for their input in the working directory, so one directory holds the files of a graph.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
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

    def text(self, kind: str) -> Path:
        """Name a file that ParMETIS reads.

        ``"nodes"``: lines `ntype weights... type_nid`, whose number is the homogeneous ID; ``"edges"``: lines
        `src dst type_eid etype`, in homogeneous IDs; ``"removed_edges"``: self-loops and repeated edges, in the same
        columns; ``"stats"``: one line, `num_nodes num_edges num_node_weights`, written last.
        """
        return self.directory / f"{self.graph}_{kind}.txt"

    @property
    def ranges(self) -> Path:
        """JSON with the ranges of homogeneous IDs of all types."""
        return self.directory / f"{self.graph}.json"

    @property
    def written(self) -> tuple[Path, ...]:
        """All of these, in the order in which they are written."""
        return *(self.text(kind) for kind in ("nodes", "edges", "removed_edges")), self.ranges, self.text("stats")

    def of_part(self, part: int, kind: str) -> Path:
        """Name a file of `pm_dglpart`: lines `new_nid <line of nodes>`, or `new_src new_dst <line of edges>`."""
        return self.directory / f"p{part:03d}-{self.graph}_{kind}.txt"


@dataclass(frozen=True, slots=True)
class PartFiles:
    """Parts as ParMETIS has written them: one file of `pm_dglpart2`, or one for each part, of `pm_dglpart`."""

    paths: tuple[Path, ...]
    num_parts: int
    by_part: bool
    num_node_weights: int | None = None  # in a line of nodes, if that was given


def holds_parts(path: Path, graph: str) -> bool:
    """Whether a path is a file, or a directory with files that are named like output of ParMETIS."""
    return path.is_file() or (path.is_dir() and any(_found(path, graph)))


def find_parts(
    path: Path, graph: str, num_parts: int | None, num_node_weights: int | None = None, *, by_part_only: bool = False
) -> PartFiles:
    """Find the output of ParMETIS."""
    if num_node_weights is not None and num_node_weights < 0:
        raise OptionError("impossible number", place="--num-node-weights", expected="0 or more", found=num_node_weights)
    if not path.is_file() and not path.is_dir():
        raise InputFileNotFoundError("no such file or directory", file=str(path), hint="give the output of ParMETIS")
    single, by_part = _found(path, graph)
    files = {} if by_part_only else {k: file for k, file in single.items() if k == num_parts} or single
    if not files and not by_part:
        what, of_part = f"no output of ParMETIS for graph {graph!r}", f"p000-{graph}_nodes.txt and so on"
        expected = of_part if by_part_only else f"{graph}_part.<num_parts>, or {of_part}"
        raise InputFileNotFoundError(what, file=str(path), expected=expected)
    if len(files) + bool(by_part) > 1:
        found = ", ".join([file.name for file in (*files.values(), *by_part.values())][:4])
        hint = "give one file, or the number of parts"
        raise OptionError("several outputs of ParMETIS to choose from", file=str(path), found=found, hint=hint)
    if by_part:
        return _by_part(ParmetisFiles(path, graph), by_part, num_parts, num_node_weights)
    ((named, file),) = files.items()
    if named is None and num_parts is None:
        what, hint = "the name of the file does not tell the number of parts", "give --num-parts"
        raise OptionError(what, file=str(file), expected="<graph>_part.<num_parts>", hint=hint)
    if None not in (named, num_parts) and named != num_parts:
        what = "the file is for another number of parts"
        raise AssignmentError(what, file=str(file), expected=num_parts, found=named)
    return PartFiles((file,), named or num_parts or 0, by_part=False)


def _found(path: Path, graph: str) -> tuple[dict[int | None, Path], dict[int, Path]]:
    """Files of `pm_dglpart2` by number of parts, if their names tell it, and files of nodes of `pm_dglpart` by part."""
    if path.is_file():
        suffix = re.search(PART_SUFFIX + "$", path.name)
        return {int(suffix[1]) if suffix else None: path}, {}
    single: dict[int | None, Path] = {}
    by_part: dict[int, Path] = {}
    name = re.escape(graph)
    for file in sorted(path.iterdir()):
        if match := re.fullmatch(name + PART_SUFFIX, file.name):
            single[int(match[1])] = file
        elif match := re.fullmatch(rf"p(\d{{3}}|[1-9]\d{{3,}})-{name}_nodes\.txt", file.name):
            by_part[int(match[1])] = file
    return single, dict(sorted(by_part.items()))


def _by_part(
    files: ParmetisFiles, found: dict[int, Path], num_parts: int | None, num_node_weights: int | None
) -> PartFiles:
    last = max(found)
    num_parts = last + 1 if num_parts is None else num_parts
    if last >= num_parts:
        what, expected = "the files are for another number of parts", f"parts below {num_parts}"
        raise AssignmentError(what, file=str(found[last]), expected=expected)
    for part in range(num_parts):
        if part not in found:
            hint = f"each of {num_parts} parts has a file; copy those of all machines into one directory"
            raise InputFileNotFoundError("no nodes of this part", file=str(files.of_part(part, "nodes")), hint=hint)
    return PartFiles(tuple(found.values()), num_parts, by_part=True, num_node_weights=num_node_weights)
