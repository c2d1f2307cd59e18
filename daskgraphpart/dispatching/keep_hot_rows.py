"""Passes `count-hot-rows` and `list-hot-rows`: the rows of other parts that a part's trainers fetch most.

Batches are sampled from the in-edges of the whole graph, before any array is laid out. The hot nodes of a part are in
the order of their original IDs, in which `place-rows` meets their features.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from daskgraphpart.engine.runner import Pass, Unit
from daskgraphpart.kernels.hashing import stream_key
from daskgraphpart.kernels.sample import shuffled
from daskgraphpart.partitioner.assign_options import AssignOptions
from daskgraphpart.partitioner.owner_parts import read_parts
from daskgraphpart.partitioner.training.count_fetches import Batches, Fetches, most_fetched
from daskgraphpart.partitioner.training.expect_samples import mark_seeds
from daskgraphpart.partitioner.training.in_edges import InEdges, sort_in_edges
from daskgraphpart.partitioner.training.predict_rows import DrawnSeeds, draw_seeds, sample_batch
from daskgraphpart.partitioner.training.training import Training, budget_of, read_training
from daskgraphpart.storage.files import delete_tree, make_directory
from daskgraphpart.storage.region import Region, create_files, npy_region, save_npy

if TYPE_CHECKING:
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.make_files import Target, Targets
    from daskgraphpart.dispatching.nodes import NumberedNodes
    from daskgraphpart.ids.book import PartitionBook
    from daskgraphpart.source import Block

EPOCHS, BATCHES = 5, 40
"""Epochs in which fetches of a part are counted; fewer once they have so many batches."""


@dataclass(frozen=True, slots=True, eq=False)
class HotNodes:
    """Hot nodes of all parts: counts, int64 (parts, node types), and files by node type and part."""

    counts: np.ndarray
    ids: Mapping[str, tuple[Region, ...]]  # original type-wise IDs, int64, ascending
    fetches: Mapping[str, tuple[Region, ...]]  # in an epoch, float64

    def list(self, job: Job, nodes: NumberedNodes, book: PartitionBook, targets: Targets) -> None:
        """Write new IDs and fetches of all of them."""
        units = [
            Unit(
                ListUnit(
                    part, ids, self.fetches[ntype][part], nodes.maps[ntype], targets[f"hot_nids/{ntype}"],
                    targets[f"hot_fetches/{ntype}"],
                ),
                16 * ids.num_rows, key=ntype,
            )
            for ntype, of_parts in self.ids.items()
            for part, ids in enumerate(of_parts)
            if ids.num_rows
        ]  # fmt: skip
        job.runner.run(Pass("list-hot-rows", list_hot, units, book))

    def rows(self, targets: Targets) -> dict[str, HotTargets]:
        """Places of their rows by feature, ``<ntype>/<name>``."""
        keys = (name.removeprefix("hot_data/") for name in targets if name.startswith("hot_data/"))
        return {key: HotTargets(self.ids[key.partition("/")[0]], targets[f"hot_data/{key}"]) for key in keys}


class CountConfig(NamedTuple):
    """The graph, how it is sampled, the part of each node, how much to choose, and where lists go."""

    in_edges: InEdges
    training: Training
    seeds: DrawnSeeds
    parts: Region
    size: str | int
    num_nodes: np.ndarray  # int64 (parts, node types)
    directory: str
    memory: int


def find_hot_nodes(job: Job, size: str | int, nodes: NumberedNodes) -> HotNodes:
    """Count what every part fetches, and choose so much of it."""
    schema, runner, root = job.graph.schema, job.runner, Path(job.work.root)
    directory = root / "in-edges"
    make_directory(directory)
    training = read_training(AssignOptions(**job.assignment.training), schema)
    seeds = mark_seeds(job.graph, training, job.num_parts, directory, runner)
    drawn = draw_seeds(seeds.marks, seeds.count, training, job.num_parts, directory, runner, BATCHES)
    in_edges = sort_in_edges(job.graph, directory, runner)
    parts = npy_region(directory / "parts.npy", np.int32, (schema.num_nodes,))
    runner.step("create-parts", lambda: create_files([parts]))
    read_parts({ntype: job.assignment.files[ntype] for ntype in schema.ntypes}, parts, runner)
    config = CountConfig(
        in_edges, training, drawn, parts, size, nodes.counts, f"{root}/hot",
        runner.resources.task_memory // 2,
    )  # fmt: skip
    counts = np.array(
        runner.run(Pass("count-hot-rows", count_part, [Unit(p, 1) for p in range(job.num_parts)], config))
    )
    if not job.work.is_kept:
        delete_tree(directory)

    def files(name: str, dtype: type) -> dict[str, tuple[Region, ...]]:
        return {
            ntype: tuple(npy_region(_path(config, name, part, i), dtype, (n,)) for part, n in enumerate(of_type))
            for i, (ntype, of_type) in enumerate(zip(schema.ntypes, counts.T.tolist(), strict=True))
        }

    return HotNodes(counts, files("ids", np.int64), files("fetches", np.float64))


def _path(config: CountConfig, name: str, part: int, type_id: int) -> str:
    return f"{config.directory}/{name}-{part}-{type_id}.npy"


def count_part(part: int, config: CountConfig) -> np.ndarray:
    """Write the hot nodes of a part; return their number by type, int64 (node types,)."""
    owners, training, size = config.parts.memmap(), config.training, config.training.batch_size
    seeds = config.seeds.read()
    seeds = seeds[owners[seeds] == part]

    def seeds_of(number: int, key: np.uint64) -> np.ndarray:
        places = np.empty(min(size, seeds.size - number * size), np.int64)
        shuffled(key, number * size, seeds.size, places)
        drawn: np.ndarray = seeds[places]
        return drawn

    def foreign_of(batch: np.ndarray, key: np.uint64) -> np.ndarray:
        nodes, _ = sample_batch(batch, config.in_edges, training.fanouts, key)
        foreign: np.ndarray = nodes[owners[nodes] != part]
        return foreign

    numbers = range(-(-seeds.size // size))
    epochs = min(EPOCHS, -(-BATCHES // max(1, len(numbers))))
    budget = budget_of(config.size, "--hot-rows", config.num_nodes[part], training.row_nbytes)
    fetches = Fetches(foreign_of, training.types_of, config.in_edges.num_nodes)
    key = stream_key(part, "keep-hot-rows")
    ids, counts = most_fetched(fetches, Batches(seeds_of, numbers, epochs), key, budget, config.memory)
    order = np.argsort(ids)
    ids, per_epoch = ids[order], counts[order] / (epochs * config.seeds.share)
    of_types = np.bincount(training.types_of(ids), minlength=training.last_nodes.size)
    ends, firsts = np.cumsum(of_types), np.append(0, training.last_nodes)
    for type_id, (count, end) in enumerate(zip(of_types.tolist(), ends.tolist(), strict=True)):
        save_npy(_path(config, "ids", part, type_id), ids[end - count : end] - firsts[type_id])
        save_npy(_path(config, "fetches", part, type_id), per_epoch[end - count : end])
    return of_types


class ListUnit(NamedTuple):
    """Hot nodes of a part and type, new IDs of the type, and the places of IDs and fetches."""

    part: int
    ids: Region
    fetches: Region
    new_nids: Region
    id_targets: tuple[Target, ...]
    fetch_targets: tuple[Target, ...]


def list_hot(unit: ListUnit, book: PartitionBook) -> None:
    """Write the hot nodes of one part and type."""
    _, new_nids = book.map_to_per_ntype(unit.new_nids.take(unit.ids.read()))
    for targets, values in ((unit.id_targets, new_nids), (unit.fetch_targets, unit.fetches.read())):
        for target in targets:
            target.write(unit.part, 0, np.ascontiguousarray(values, target.dtype))


@dataclass(frozen=True, slots=True, eq=False)
class HotTargets:
    """Where a feature's hot rows go: original IDs of each part, and the output."""

    ids: tuple[Region, ...]
    targets: tuple[Target, ...]

    def write(self, rows: np.ndarray, block: Block[np.ndarray]) -> None:
        """Write those of a block's rows that are hot."""
        for part, region in enumerate(self.ids):
            ids = region.memmap()
            low, high = np.searchsorted(ids, (block.first_row, block.first_row + block.num_rows)).tolist()
            if low < high:
                hot = rows[ids[low:high] - block.first_row]
                for target in self.targets:
                    target.write(part, low, np.ascontiguousarray(hot, target.dtype))
