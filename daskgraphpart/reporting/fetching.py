"""Passes `report-sort-edges` and `report-sampling`: estimate by sampled batches what trainers fetch from other parts.

In-edges come from the parts' CSC. For parts without it, edges are sorted first, into temporary files of 16 bytes per
edge and 8 per node, in the workspace if given.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.engine.runner import Pass, Unit
from daskgraphpart.errors import OptionError
from daskgraphpart.reporting.passes import LABEL_NAMES
from daskgraphpart.sampling.columns import sort_edges, stored_columns
from daskgraphpart.sampling.estimate import EstimateConfig, Fetching, sample_parts
from daskgraphpart.sampling.seeds import read_fanouts
from daskgraphpart.schema import MASK_NAME
from daskgraphpart.storage.paths import is_remote, require_local

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.layouts.dgl_graph import GraphFile
    from daskgraphpart.reporting.passes import NodeRegions
    from daskgraphpart.storage.region import Region

TASKS_PER_WORKER = 4


@dataclass(frozen=True, slots=True)
class Sampling:
    """What training samples: neighbours at each hop, and seeds per batch."""

    fanouts: Any  # a number per hop, or such a list per edge type; or ``"10,10"``
    batch_size: int

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise OptionError("too small", place="--batch-size", expected="1 or more", found=self.batch_size)
        if isinstance(self.fanouts, str):
            try:
                object.__setattr__(self, "fanouts", [int(number) for number in self.fanouts.split(",")])
            except ValueError as fault:
                expected, found = "numbers such as 10,10", self.fanouts
                raise OptionError("invalid fan-outs", place="--sampling", expected=expected, found=found) from fault

    def read(self, book: PartitionBook) -> np.ndarray:
        """Read the fan-outs, int64 (hops, edge types)."""
        return read_fanouts(self.fanouts, book, "--sampling")


@dataclass(frozen=True, slots=True, eq=False)
class Sorting:
    """A part whose edges to sort into a directory."""

    graph: GraphFile
    directory: str


def sort_part(unit: Sorting, max_nbytes: int) -> dict[str, Region]:
    """Sort a part's edges by destination."""
    Path(unit.directory).mkdir(exist_ok=True)
    return sort_edges(unit.graph, unit.directory, max_nbytes)


def estimate_fetching(
    sampling: Sampling,
    book: PartitionBook,
    graphs: Sequence[GraphFile],
    nodes: NodeRegions,
    runner: Runner,
    *,
    is_ours: bool,
) -> Fetching:
    """Sample batches of every part; `is_ours` says whether we wrote the files."""
    fanouts, resources = sampling.read(book), runner.resources
    if any(is_remote(graph.node_arrays["_ID"].path) for graph in graphs):
        path, why = graphs[0].node_arrays["_ID"].path, "copy the partitions to a file system first"
        require_local(path, "what is sampled", why)
    if resources.workspace is not None:
        Path(resources.workspace).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="daskgraphpart-sampling-", dir=resources.workspace) as directory:
        matrices = _columns(graphs, book, directory, runner, is_ours=is_ours)
        masks = [_training_masks(of_part, book) for of_part in nodes]
        config = EstimateConfig(
            book, graphs, matrices, masks, _row_nbytes(nodes, book), fanouts, sampling.batch_size, any(masks)
        )
        each = -(-book.num_parts // (resources.workers * TASKS_PER_WORKER))
        ranges = [range(first, min(first + each, book.num_parts)) for first in range(0, book.num_parts, each)]
        counted = runner.run(Pass("report-sampling", sample_parts, [Unit(of, 1) for of in ranges], config))
    columns = np.array([of_part for of_range in counted for of_part in of_range], np.int64).T
    shown = tuple(fanouts.max(axis=1).tolist())  # where edge types differ, the largest
    seeds, batches, inputs, remote, nbytes = columns
    return Fetching(shown, sampling.batch_size, seeds, batches, inputs, remote, nbytes, config.has_masks)


def _columns(
    graphs: Sequence[GraphFile], book: PartitionBook, directory: str, runner: Runner, *, is_ours: bool
) -> list[Mapping[str, Region]]:
    """CSC of each part, sorted now if there is none."""
    found = [stored_columns(graph, book, is_sorted=is_ours) for graph in graphs]
    units = [
        Unit(Sorting(graph, str(Path(directory, str(part)))), 16 * graph.num_edges)
        for part, graph in enumerate(graphs)
        if found[part] is None
    ]
    # half of a task's memory: the rest is for edges as read
    sorted_files = iter(runner.run(Pass("report-sort-edges", sort_part, units, runner.resources.task_memory // 2)))
    return [next(sorted_files) if matrix is None else matrix for matrix in found]


def _training_masks(regions: Mapping[str, Mapping[str, Region]], book: PartitionBook) -> dict[str, Region]:
    """A part's columns that mark training nodes, by node type."""
    return {
        ntype: region
        for ntype in book.ntypes
        for name, region in regions.get(ntype, {}).items()
        if MASK_NAME.match(name) and name.startswith("train") and region.num_rows and len(region.shape) == 1
    }


def _row_nbytes(nodes: NodeRegions, book: PartitionBook) -> np.ndarray:
    """Bytes of a node's features by type, without masks and labels, int64 (node types,)."""
    found = np.zeros(len(book.ntypes), np.int64)
    for number, ntype in enumerate(book.ntypes):
        names: dict[str, int] = {}
        for of_part in nodes:
            names |= {name: region.row_nbytes for name, region in of_part.get(ntype, {}).items() if region.num_rows}
        found[number] = sum(
            nbytes for name, nbytes in names.items() if name not in LABEL_NAMES and not MASK_NAME.match(name)
        )
    return found
