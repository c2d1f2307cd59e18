"""Passes `report-sort-edges` and `report-sampling`: estimate by sampled batches what trainers fetch from other parts.

Batches are those of DGL's distributed training: a trainer has its part's training nodes, each hop starts from all nodes
so far, and the features of all are fetched. What hot rows beside each part would save is counted in these batches, the
hot rows themselves in others. In-edges come from the parts' CSC. For parts without it, edges are sorted
first, into temporary files of 16 bytes per edge and 8 per node, in the workspace if given. Unless asked for, this is
done only if they fit into memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.errors import OptionError
from daskgraphpart.ids.fanouts import read_fanouts, split_fanouts
from daskgraphpart.kernels.hashing import stream_key, stream_key_of
from daskgraphpart.kernels.sample import shuffled
from daskgraphpart.partitioned.sampling.part_columns import map_columns, sort_edges, stored_columns
from daskgraphpart.partitioned.sampling.sampler import Sampler, marked_nodes, training_masks
from daskgraphpart.partitioner.training.count_fetches import most_fetched
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

    def with_recorded(self, recorded: Mapping[str, Any]) -> Sampling:
        """Return this with what is recorded, or else usual, in place of what is not given."""
        fanouts = recorded.get("fanouts", FANOUTS) if self.fanouts is None else self.fanouts
        batch_size = self.batch_size or recorded.get("batch_size", 1000)
        return replace(self, fanouts=fanouts, batch_size=batch_size, is_brief=not (self.is_asked or recorded))

    def read(self, book: PartitionBook) -> np.ndarray:
        """Read the fan-outs, int64 (hops, edge types)."""
        return read_fanouts(self.fanouts, book.etypes, "--fanouts")


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
    fanouts, resources, batch_size = sampling.read(book), runner.resources, sampling.batch_size
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

    @property
    def num_batches(self) -> int:
        """Batches of a part, at most."""
        return FEW_BATCHES if self.is_brief else MAX_BATCHES


def sample_parts(parts: range, config: EstimateConfig) -> list[tuple[tuple[int, ...], np.ndarray]]:
    """Sample batches of consecutive parts; return of each the counts of `Fetching`, and inputs by owner.

    Memory: a batch with its edges, some 100 bytes each, and `MAX_BATCHES` batches of seeds; files are mapped. Counts of
    hot rows have half of a task's memory.
    """
    columns = [
        map_columns(graph, config.book, part, matrix)
        for part, (graph, matrix) in enumerate(zip(config.graphs, config.matrices, strict=True))
    ]
    sampler = Sampler(config.book, columns, config.fanouts, from_all=True)
    return [_sample_part(part, sampler, config) for part in parts]


def _sample_part(part: int, sampler: Sampler, config: EstimateConfig) -> tuple[tuple[int, ...], np.ndarray]:
    key, hot = stream_key(part, "estimate"), _hot_rows(part, sampler, config)
    totals, num_batches, inputs_from = np.zeros(5, np.int64), 0, np.zeros(config.book.num_parts, np.int64)
    for batch, of_batch in _batches(part, config, key):
        located = sampler.nodes(nodes := sampler.sample(batch, of_batch).nodes)
        foreign = located.owners != part
        inputs_from += np.bincount(located.owners, minlength=inputs_from.size)
        nbytes, is_cold = config.row_nbytes[located.types[foreign]], ~np.isin(nodes[foreign], hot)
        totals += nodes.size, nbytes.size, nbytes.sum(), is_cold.sum(), nbytes[is_cold].sum()
        num_batches += 1
    inputs, remote, remote_nbytes, cold, cold_nbytes = totals.tolist()
    num_seeds, _ = _choose_seeds(part, config, key)
    return (num_seeds, num_batches, inputs, remote, remote_nbytes, hot.size, cold, cold_nbytes), inputs_from[
        :MAX_MATRIX
    ]


def _hot_rows(part: int, sampler: Sampler, config: EstimateConfig) -> np.ndarray:
    """New homogeneous IDs of the part's hot rows, counted in batches of other epochs."""
    if config.is_brief:
        return np.zeros(0, np.int64)

    def batches(key: np.uint64) -> Iterator[tuple[np.ndarray, np.uint64]]:
        counted = 0
        for epoch in range(COUNTED_EPOCHS):
            for batch in _batches(part, config, stream_key_of(key, epoch)):
                yield batch
                counted += 1
            if counted >= 2 * MAX_BATCHES:
                break

    budget = budget_of(HOT_SHARE, "size", config.book.node_counts[part], config.row_nbytes)
    ids, _ = most_fetched(sampler.fetches_of(part), batches, stream_key(part, "hot-rows"), budget, config.memory)
    return ids


def _batches(part: int, config: EstimateConfig, key: np.uint64) -> Iterator[tuple[np.ndarray, np.uint64]]:
    """Seeds and keys of a part's batches: of an epoch, or some of them."""
    _, seeds = _choose_seeds(part, config, key)
    for number, first in enumerate(range(0, seeds.size, config.batch_size)):
        yield seeds[first : first + config.batch_size], stream_key_of(key, number)


def _choose_seeds(part: int, config: EstimateConfig, key: np.uint64) -> tuple[int, np.ndarray]:
    """Number of a part's training nodes, and new homogeneous IDs of some in random order."""
    book, first = config.book, config.book.node_ranges[part, 0, 0]
    if not config.has_masks:
        total = int(book.node_counts[part].sum())
        return total, first + _some(total, config, key)
    total = sum(marked.size for marked, _ in marked_nodes(config.masks[part], book, part))
    wanted, done = _some(total, config, key), 0
    order, chosen = np.argsort(wanted), np.empty(wanted.size, np.int64)
    for marked, start in marked_nodes(config.masks[part], book, part):
        low, high = np.searchsorted(wanted[order], (done, done + marked.size))
        chosen[order[low:high]] = start + marked[wanted[order[low:high]] - done]
        done += marked.size
    return total, chosen


def _some(total: int, config: EstimateConfig, key: np.uint64) -> np.ndarray:
    """First positions of a random order: whole batches, or everything."""
    places = np.empty(min(total, config.num_batches * config.batch_size), np.int64)
    shuffled(key, 0, total, places)
    return places
