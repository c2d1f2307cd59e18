"""Choose hot rows: count in simulated epochs of sampling what a part's trainers fetch, and read the features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import OptionError, PlanError
from daskgraphpart.ids.fanouts import read_fanouts
from daskgraphpart.kernels.hashing import stream_key, stream_key_of
from daskgraphpart.partitioned.hot_rows import HotNodes, HotRows
from daskgraphpart.partitioned.pyg.loader import open_source, read_nodes
from daskgraphpart.partitioned.pyg.sampled_source import LoaderOptions, SampledSource
from daskgraphpart.partitioned.pyg.seeds import Seeds
from daskgraphpart.partitioned.sampling.sampled_rows import group_by_part
from daskgraphpart.partitioned.sampling.sampler import Sampler
from daskgraphpart.partitioned.sampling.training_nodes import marked_nodes, training_masks
from daskgraphpart.partitioner.training.count_fetches import ID_NBYTES, Batches, Budget, budget_of, most_fetched
from daskgraphpart.schema import is_fetched
from daskgraphpart.units import format_number, format_size

if TYPE_CHECKING:
    from daskgraphpart.partitioned.part import Part


@dataclass(frozen=True, slots=True)
class HotOptions:
    """How trainers sample, how many rows to choose, and how to count."""

    size: str | int
    batch_size: int
    epochs: int
    replace: bool
    seed: int

    def __post_init__(self) -> None:
        for name, least in (("batch_size", 1), ("epochs", 1), ("seed", 0)):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
                expected = f"a whole number, {least} or more"
                raise OptionError("not a number", place=name, expected=expected, found=repr(value))


def choose_hot_rows(
    part: Part, num_neighbors: Any, input_nodes: Any, options: HotOptions, node_data: Any, memory: int, workspace: Any
) -> HotRows:
    """Count and read what `pyg_methods.hot_rows` describes."""
    graph, book, part_id = part.whole, part.book, part.part_id
    fanouts = read_fanouts(num_neighbors, book.etypes)
    loaded = LoaderOptions(node_data=node_data, edge_data=(), workspace=workspace)
    source = open_source(graph, None, loaded)
    features = [of for of in source.features if node_data is not None or is_fetched(of.name)]
    row_nbytes = np.array([sum(of.row_nbytes for of in features if of.kind == ntype) for ntype in book.ntypes])
    budget = budget_of(options.size, "size", book.node_counts[part_id], row_nbytes)
    _check_fits(budget, part, row_nbytes, memory)
    seeds = _seeds_of(part, source, input_nodes)
    sampler = Sampler(book, source.columns, fanouts, options.replace, from_all=True)
    batches = Batches(
        lambda number, key: seeds.batch(number, options.batch_size, key)[1],
        range(-(-seeds.count // options.batch_size)),
        options.epochs,
    )
    key = stream_key_of(stream_key(int(options.seed), "hot-rows"), part_id)
    ids, counts = most_fetched(sampler.fetches_of(part_id), batches, key, budget, memory)
    located = sampler.nodes(ids)
    by_type = {}
    for number, ntype in enumerate(book.ntypes):
        if budget.weights[number]:
            places = np.flatnonzero(located.types == number)
            groups = [
                (owner, of_owner[np.argsort(located.ids[places][of_owner])])  # in the order of the files
                for owner, of_owner in group_by_part(located.owners[places])
            ]
            rows = {of.name: of.gather(located.ids[places], groups) for of in features if of.kind == ntype}
            by_type[ntype] = HotNodes(located.ids[places], counts[places] / options.epochs, rows)
    source.check_unchanged()
    return HotRows(part_id, ids, counts / options.epochs, by_type, source.files)


def _check_fits(budget: Budget, part: Part, row_nbytes: np.ndarray, memory: int) -> None:
    """Refuse rows that may need more than the memory."""
    counts = part.book.node_counts
    foreign = np.where(budget.weights > 0, counts.sum(axis=0) - counts[part.part_id], 0)
    heaviest = int((row_nbytes + ID_NBYTES)[budget.weights > 0].max(initial=0))
    num_rows = min(int(foreign.sum()), budget.total // int(budget.weights[budget.weights > 0].min(initial=1)))
    needed = min(num_rows * heaviest, int((foreign * (row_nbytes + ID_NBYTES)).sum()))
    if budget.weights.max(initial=0) > 1:  # bytes
        needed = min(needed, budget.total)
    if needed > memory:
        raise PlanError(
            f"{format_number(num_rows, 'hot row')} may need {format_size(needed)}, more than the memory",
            option="memory",
            found=format_size(memory),
            hint=f"use --memory {-(-needed // 1_000_000)}MB or more, or a size of {memory} bytes",
        )


def _seeds_of(part: Part, source: SampledSource, given: Any) -> Seeds:
    """Seeds of a part by new homogeneous ID: as given, or else its training nodes, or without masks all its nodes."""
    graph, book, part_id = part.whole, part.book, part.part_id
    if given is not None:
        ntype, seeds = read_nodes(graph, replace(source, part_id=part_id), given)
        if seeds.ids is None:
            return Seeds(int(book.node_ranges[part_id, book.ntypes.index(ntype), 0]), seeds.count)
        return Seeds(0, seeds.count, book.nodes.homogeneous(seeds.ids, ntype))
    masks = [training_masks(of.node_rows.features, book) for of in graph.parts]
    if not any(masks):
        first, stop = book.nodes.part_range(part_id)
        return Seeds(first, stop - first)
    marked = [start + rows for rows, start in marked_nodes(masks[part_id], book, part_id)]
    ids = np.concatenate([np.empty(0, np.int64), *marked])
    return Seeds(0, ids.size, ids)
