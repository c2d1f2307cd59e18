"""Passes `report-sort-edges` and `report-sampling`: estimate by sampled batches what trainers fetch from other parts.

Batches are those of DGL's distributed training: a trainer has its part's training nodes, each hop starts from all nodes
so far, and the features of all are fetched. What hot rows beside each part would save is counted in these batches, the
hot rows themselves in others. In-edges come from the parts' CSC. For parts without it, edges are sorted
first, into temporary files of 16 bytes per edge and 8 per node, in the workspace if given. Unless asked for, this is
done only if they fit into memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.errors import OptionError
from daskgraphpart.ids.fanouts import read_fanouts, split_fanouts
from daskgraphpart.kernels.hashing import stream_key, stream_key_of
from daskgraphpart.partitioned.sampling.part_columns import map_columns, sort_edges, stored_columns
from daskgraphpart.partitioned.sampling.sampler import Sampler, training_masks, training_seeds
from daskgraphpart.partitioner.training.count_fetches import Batches, most_fetched
from daskgraphpart.partitioner.training.training import budget_of
from daskgraphpart.schema import is_fetched
from daskgraphpart.storage.paths import is_remote, require_local
from daskgraphpart.tools.report.figures import MAX_MATRIX, Fetching
from daskgraphpart.units import parse_rate

if TYPE_CHECKING:
    from daskgraphpart.ids.book import PartitionBook
    from daskgraphpart.layouts.dgl_graph import GraphFile
    from daskgraphpart.storage.region import Region
    from daskgraphpart.tools.report.figures import NodeRegions

NETWORK = "10Gbit"
FANOUTS = "10,10"
"""Neighbours that are sampled if nobody says how training samples."""
TASKS_PER_WORKER = 4
HOT_SHARE = "5%"
"""Of a part's nodes: the hot rows beside it."""
COUNTED_EPOCHS = 5
"""In which hot rows are counted; fewer once these have twice `MAX_BATCHES`."""
MAX_BATCHES = 20
"""Batches that are sampled of each part; with as many or fewer in an epoch, all of them."""
FEW_BATCHES = 5
"""The same if nobody asked for them; hot rows are then not counted."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """What training samples: neighbours at each hop, and seeds per batch; and its network, if these are given."""

    fanouts: Any  # a number per hop, or such a list per edge type; or texts such as ``"10,10"``
    batch_size: int | None
    network: str | None
    is_brief: bool = False  # few batches, without hot rows

    def __post_init__(self) -> None:
        if self.batch_size is not None and self.batch_size < 1:
            what = f"--batch-size {self.batch_size} is too small"
            raise OptionError(what, option="batch_size", hint="use 1 or more")
        assert self.bits > 0
        if self.fanouts is not None:
            object.__setattr__(self, "fanouts", split_fanouts(self.fanouts))

    @property
    def bits(self) -> float:
        """Bits per second of the network."""
        return parse_rate(self.network or NETWORK, "--network")

    @property
    def is_asked(self) -> bool:
        """Whether anything is given."""
        return (self.fanouts, self.batch_size, self.network) != (None, None, None)

    def with_recorded(self, stated: Mapping[str, Any]) -> Sampling:
        """Return this with what a manifest records, or else usual, in place of what is not given.

        It counts if the parts were made for training, from the seeds that are counted.
        """
        training = stated.get("training")
        recorded = training if isinstance(training, dict) and training.get("seeds") is None else {}
        fanouts = recorded.get("fanouts", FANOUTS) if self.fanouts is None else self.fanouts
        batch_size = self.batch_size or recorded.get("batch_size", 1000)
        return replace(self, fanouts=fanouts, batch_size=batch_size, is_brief=not (self.is_asked or recorded))


def nbytes_to_sort(graphs: Sequence[GraphFile], book: PartitionBook, *, is_ours: bool) -> int:
    """Bytes of temporary files for the in-edges of parts without CSC."""
    without = (graph for graph in graphs if stored_columns(graph, book, is_sorted=is_ours) is None)
    return sum(16 * graph.num_edges + 8 * graph.num_nodes for graph in without)


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
    resources, batch_size = runner.resources, sampling.batch_size
    fanouts = read_fanouts(sampling.fanouts, book.etypes, "--fanouts")
    assert batch_size is not None, "it is recorded, or has a default"
    if any(is_remote(graph.node_arrays["_ID"].path) for graph in graphs):
        path, why = graphs[0].node_arrays["_ID"].path, "copy the partitions to a file system first"
        require_local(path, "what is sampled", why)
    if resources.workspace is not None:
        Path(resources.workspace).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="daskgraphpart-sampling-", dir=resources.workspace) as directory:
        matrices = _columns(graphs, book, directory, runner, is_ours=is_ours)
        masks = [training_masks(of_part, book) for of_part in nodes]
        config = EstimateConfig(
            book, graphs, matrices, masks, _row_nbytes(nodes, book), fanouts, batch_size, any(masks),
            resources.task_memory // 2, sampling.is_brief,
        )  # fmt: skip
        each = -(-book.num_parts // (resources.workers * TASKS_PER_WORKER))
        ranges = [range(first, min(first + each, book.num_parts)) for first in range(0, book.num_parts, each)]
        counted = runner.run(Pass("report-sampling", sample_parts, [Unit(of, 1) for of in ranges], config))
    of_parts = [of_part for of_range in counted for of_part in of_range]
    columns = np.array([counts for counts, _ in of_parts], np.int64).T
    inputs_from = np.array([of_part for _, of_part in of_parts]).T if book.num_parts <= MAX_MATRIX else None
    shown = tuple(fanouts.max(axis=1).tolist())  # where edge types differ, the largest
    seeds, batches, inputs, remote, nbytes, hot, cold, cold_nbytes = columns
    return Fetching(
        shown, batch_size, sampling.bits, seeds, batches, inputs, remote, nbytes, hot, cold, cold_nbytes,
        inputs_from, config.has_masks, int(book.node_counts.sum()),
    )  # fmt: skip


def _columns(
    graphs: Sequence[GraphFile], book: PartitionBook, directory: str, runner: Runner, *, is_ours: bool
) -> list[Mapping[str, Region]]:
    """CSC of each part, sorted now if there is none."""
    matrices = [stored_columns(graph, book, is_sorted=is_ours) for graph in graphs]
    units = [
        Unit((graph, Path(directory, str(part))), 16 * graph.num_edges)
        for part, graph in enumerate(graphs)
        if matrices[part] is None
    ]
    # half of a task's memory: the rest is for edges as read
    sorted_files = iter(runner.run(Pass("report-sort-edges", sort_part, units, runner.resources.task_memory // 2)))
    return [next(sorted_files) if matrix is None else matrix for matrix in matrices]


def sort_part(unit: tuple[GraphFile, Path], max_nbytes: int) -> dict[str, Region]:
    """Task of the pass `report-sort-edges`: sort a part's edges by destination into a directory."""
    graph, directory = unit
    directory.mkdir(exist_ok=True)
    return sort_edges(graph, str(directory), max_nbytes)


def _row_nbytes(nodes: NodeRegions, book: PartitionBook) -> np.ndarray:
    """Bytes of a node's features by type, without masks and labels, int64 (node types,)."""
    by_type = np.zeros(len(book.ntypes), np.int64)
    for number, ntype in enumerate(book.ntypes):
        names: dict[str, int] = {}
        for of_part in nodes:
            names |= {name: region.row_nbytes for name, region in of_part.get(ntype, {}).items() if region.num_rows}
        by_type[number] = sum(nbytes for name, nbytes in names.items() if is_fetched(name))
    return by_type


@dataclass(frozen=True, slots=True, eq=False)
class EstimateConfig:
    """Shared by tasks: the graphs of all parts, their CSC, and how to sample."""

    book: PartitionBook
    graphs: Sequence[GraphFile]
    matrices: Sequence[Mapping[str, Region]]
    masks: Sequence[Mapping[str, Region]]  # by part and node type: the column that marks training nodes
    row_nbytes: np.ndarray  # int64 (node types,): feature bytes per node
    fanouts: np.ndarray  # int64 (hops, edge types)
    batch_size: int
    has_masks: bool
    memory: int  # for counts of hot rows
    is_brief: bool


def sample_parts(parts: range, config: EstimateConfig) -> list[tuple[tuple[int, ...], np.ndarray]]:
    """Sample batches of consecutive parts; return of each the counts of `Fetching`, and inputs by owner.

    Memory: a batch with its edges, some 100 bytes each, and 8 per training node of the part; files are mapped. Counts
    of hot rows have half of a task's memory.
    """
    columns = [
        map_columns(graph, config.book, part, matrix)
        for part, (graph, matrix) in enumerate(zip(config.graphs, config.matrices, strict=True))
    ]
    sampler = Sampler(config.book, columns, config.fanouts, from_all=True)
    return [_sample_part(part, sampler, config) for part in parts]


def _sample_part(part: int, sampler: Sampler, config: EstimateConfig) -> tuple[tuple[int, ...], np.ndarray]:
    seeds = training_seeds(config.masks[part] if config.has_masks else None, config.book, part)
    most = FEW_BATCHES if config.is_brief else MAX_BATCHES
    num_batches = min(most, -(-seeds.count // config.batch_size))
    hot = np.zeros(0, np.int64)  # new homogeneous IDs of the hot rows, counted in batches of other epochs
    if not config.is_brief:
        budget = budget_of(HOT_SHARE, "size", config.book.node_counts[part], config.row_nbytes)
        epochs = min(COUNTED_EPOCHS, -(-2 * MAX_BATCHES // max(num_batches, 1)))
        batches = Batches(lambda *of: seeds.batch(of[0], config.batch_size, of[1])[1], range(num_batches), epochs)
        key = stream_key(part, "hot-rows")
        hot, _ = most_fetched(sampler.fetches_of(part), batches, key, budget, config.memory)
    totals, inputs_from = np.zeros(5, np.int64), np.zeros(config.book.num_parts, np.int64)
    key = stream_key(part, "estimate")
    for number in range(num_batches):
        _, batch = seeds.batch(number, config.batch_size, key)
        located = sampler.nodes(nodes := sampler.sample(batch, stream_key_of(key, number)).nodes)
        foreign = located.owners != part
        inputs_from += np.bincount(located.owners, minlength=inputs_from.size)
        nbytes, is_cold = config.row_nbytes[located.types[foreign]], ~np.isin(nodes[foreign], hot)
        totals += nodes.size, nbytes.size, nbytes.sum(), is_cold.sum(), nbytes[is_cold].sum()
    inputs, remote, remote_nbytes, cold, cold_nbytes = totals.tolist()
    counts = seeds.count, num_batches, inputs, remote, remote_nbytes, hot.size, cold, cold_nbytes
    return counts, inputs_from[:MAX_MATRIX]
