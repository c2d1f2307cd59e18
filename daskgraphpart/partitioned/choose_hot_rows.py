"""Choose hot rows by counting in simulated epochs what a part's trainers fetch, or read those that a dispatch kept."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import numpy as np

from daskgraphpart.errors import LayoutError, OptionError, PlanError
from daskgraphpart.graph.read_parquet import read_parquet_header, read_rows
from daskgraphpart.ids.fanouts import read_fanouts
from daskgraphpart.kernels.hashing import stream_key, stream_key_of
from daskgraphpart.layouts.known_outputs import description_of
from daskgraphpart.layouts.manifest_reader import read_manifest
from daskgraphpart.layouts.part_arrays import file_name
from daskgraphpart.partitioned.hot_rows import HotNodes, HotRows
from daskgraphpart.partitioned.pyg.loader import open_source, read_nodes
from daskgraphpart.partitioned.sampling.sampled_rows import group_by_part
from daskgraphpart.partitioned.sampling.sampler import Sampler, Seeds, training_masks, training_seeds
from daskgraphpart.partitioner.training.count_fetches import Batches, most_fetched
from daskgraphpart.partitioner.training.training import ID_NBYTES, Budget, budget_of
from daskgraphpart.schema import DataSpec, is_fetched
from daskgraphpart.storage.files import is_file
from daskgraphpart.storage.json_file import convert_json
from daskgraphpart.storage.region import Region
from daskgraphpart.units import format_number, format_size

if TYPE_CHECKING:
    from daskgraphpart.partitioned.pyg.sampled_source import LoaderOptions, SampledSource
    from daskgraphpart.partitioned.stored_part import StoredPart


def choose_hot_rows(
    part: StoredPart, num_neighbors: Any, input_nodes: Any, size: Any, epochs: Any, options: LoaderOptions, memory: int
) -> HotRows:
    """Count and read what `pyg_methods.hot_rows` describes."""
    graph, book, part_id = part.whole, part.book, part.part_id
    if not isinstance(epochs, Integral) or epochs < 1:
        raise OptionError("not a number", place="epochs", expected="a whole number, 1 or more", found=repr(epochs))
    fanouts, source = read_fanouts(num_neighbors, book.etypes), open_source(graph, None, options)
    features = [of for of in source.features if options.node_data is not None or is_fetched(of.name)]
    row_nbytes = np.array([sum(of.row_nbytes for of in features if of.kind == ntype) for ntype in book.ntypes])
    budget = budget_of(size, "size", book.node_counts[part_id], row_nbytes)
    _check_fits(budget, part, row_nbytes, memory)
    seeds = _seeds_of(part, source, input_nodes)
    sampler = Sampler(book, source.columns, fanouts, options.replace, from_all=True)
    batches = Batches(
        lambda number, key: seeds.batch(number, options.batch_size, key)[1],
        range(-(-seeds.count // options.batch_size)),
        int(epochs),
    )
    key = stream_key_of(stream_key(options.seed, "hot-rows"), part_id)
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
            by_type[ntype] = HotNodes(located.ids[places], counts[places] / epochs, rows)
    source.check_unchanged()
    return HotRows(part_id, ids, counts / epochs, by_type, source.files)


def _check_fits(budget: Budget, part: StoredPart, row_nbytes: np.ndarray, memory: int) -> None:
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


def _seeds_of(part: StoredPart, source: SampledSource, given: Any) -> Seeds:
    """Seeds of a part by new homogeneous ID: as given, or else its training nodes, or without masks all its nodes."""
    graph, book, part_id = part.whole, part.book, part.part_id
    if given is not None:
        ntype, seeds = read_nodes(graph, replace(source, part_id=part_id), given)
        if seeds.ids is None:
            return Seeds(int(book.node_ranges[part_id, book.ntypes.index(ntype), 0]), seeds.count)
        return Seeds(0, seeds.count, book.nodes.homogeneous(seeds.ids, ntype))
    masks = [training_masks(of.node_rows.features, book) for of in graph.parts]
    return training_seeds(masks[part_id] if any(masks) else None, book, part_id)


IDS, FETCHES = DataSpec("hot_nids", np.dtype(np.int64), ()), DataSpec("hot_fetches", np.dtype(np.float64), ())
COLUMNS = {IDS.name: "new_id", FETCHES.name: "fetches"}


def read_hot_rows(part: StoredPart, options: LoaderOptions) -> HotRows:
    """Read what `pyg_methods.hot_rows` describes."""
    book, read = part.book, find_hot_rows(part)
    if read is None:
        hint = "partition with hot_rows and the layout ranks or parquet, or give num_neighbors"
        raise OptionError("no hot rows are kept beside these parts", place="num_neighbors", hint=hint)
    source = open_source(part.whole, None, options)
    wanted = [of for of in source.features if is_fetched(of.name)]
    by_type, ids = {}, []
    for ntype in book.ntypes:
        unordered, fetches = read(ntype, IDS), read(ntype, FETCHES)
        order = np.lexsort((unordered, -fetches))  # most fetched first
        rows = {of.name: read(ntype, DataSpec(of.name, of.dtype, of.row_shape)) for of in wanted if of.kind == ntype}
        by_type[ntype] = HotNodes(unordered[order], fetches[order], {name: of[order] for name, of in rows.items()})
        ids.append(book.nodes.homogeneous(by_type[ntype].ids, ntype))
    fetches = np.concatenate([of.fetches for of in by_type.values()])
    order = np.argsort(-fetches, kind="stable")
    return HotRows(part.part_id, np.concatenate(ids)[order], fetches[order], by_type, source.files)


class _Array(msgspec.Struct):
    prefix: str
    offsets: list[int]


class ReadHot(Protocol):
    """What reads the hot rows beside a part."""

    def __call__(self, ntype: str, spec: DataSpec, start: int = 0, end: int | None = None) -> np.ndarray:
        """Read an array of a node type: all its rows, or some."""


def find_hot_rows(part: StoredPart) -> ReadHot | None:
    """Return what reads the hot rows beside this part; None if no layout has any."""
    root, number, num_parts = part.whole.config.parent, part.part_id, part.book.num_parts
    described = root / description_of("ranks")
    if is_file(described):
        stated, what = read_manifest(described, "ranks").content.get("arrays"), "not the arrays of the layout ranks"
        arrays = convert_json(stated, dict[str, _Array], LayoutError, what, file=str(described))
        if any(key.startswith("hot_nids/") for key in arrays):

            def of_ranks(ntype: str, spec: DataSpec, start: int = 0, end: int | None = None) -> np.ndarray:
                key = f"{spec.name}/{ntype}" if spec in (IDS, FETCHES) else f"hot_data/{ntype}/{spec.name}"
                first, stop = arrays[key].offsets[number : number + 2]
                path = root / "ranks" / f"{arrays[key].prefix}_part_{number}_of_{num_parts}"
                return Region(str(path), 0, spec.dtype, (stop - first, *spec.row_shape)).read(start, end)

            return of_ranks

    def of_table(ntype: str, spec: DataSpec, start: int = 0, end: int | None = None) -> np.ndarray:
        path = str(root / "parquet" / "hot" / file_name(ntype) / f"part={number}" / "data.parquet")
        name = COLUMNS.get(spec.name, spec.name)
        return read_rows(path, start, read_parquet_header(path).num_rows if end is None else end, spec, (name,))

    if is_file(root / "parquet" / "hot" / file_name(part.book.ntypes[0]) / f"part={number}" / "data.parquet"):
        return of_table
    return None
