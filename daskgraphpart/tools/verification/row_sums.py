"""Compare rows of input and parts by original ID: the ends of all edges, and every feature; hot rows with owners'.

Rows are hashed with their original IDs; sums of hashes, by window of IDs, must agree. So nothing is sorted or joined.
Where sums differ, the pass `explain-edges` or `explain-rows` compares that stretch of the input row by row. Bits are
compared, so a NaN equals only the same NaN. Without original IDs, a feature's rows are compared as a whole, in any
order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.ids.ranges import places_by_part
from daskgraphpart.kernels.sum_hashes import add_row_hashes
from daskgraphpart.partitioned.choose_hot_rows import IDS, find_hot_rows
from daskgraphpart.schema import DataSpec, EdgeType, is_fetched
from daskgraphpart.tools.verification.findings import Finding, show_from, wrong_rows
from daskgraphpart.tools.verification.verify_run import Run, check_parts, open_part, open_parts, pieces

if TYPE_CHECKING:
    from daskgraphpart.partitioned.stored_part import StoredPart
    from daskgraphpart.source import Block

MIN_STRETCH, NUM_STRETCHES = 64, 1024
MIN_WINDOW, NUM_WINDOWS = 4096, 256


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """What one run compares: the ends of all edges, by homogeneous ID, or a feature, by type-wise ID."""

    run: Run
    kind: str  # ``"node"`` or ``"edge"``
    num_rows: int  # rows of all parts
    stretches: np.ndarray  # int64 (n, 2): original IDs ``[first, stop)`` to compare, ascending
    piece_rows: int  # rows that a task reads at a time
    type_id: int = 0  # of the node or edge type
    spec: DataSpec | None = None  # None for the ends of edges

    @property
    def num_compared(self) -> int:
        """Number of rows to compare."""
        return int((self.stretches[:, 1] - self.stretches[:, 0]).sum())

    @property
    def window(self) -> int:
        """Original IDs per window."""
        return window_size(self.num_rows)

    @property
    def row_nbytes(self) -> int:
        """Bytes of a row."""
        return 16 if self.spec is None else self.spec.row_nbytes

    def add(self, rows: np.ndarray, ids: np.ndarray, sums: np.ndarray) -> None:
        """Add hashes of rows to the sums of their IDs' windows, uint64 (windows,)."""
        add_row_hashes(words_of(rows), ids, ids // self.window, sums)


def all_edges(run: Run) -> Compared:
    """Plan to compare the original homogeneous IDs of the ends of all edges."""
    num_edges = run.schema.num_edges
    return Compared(run, "edge", num_edges, np.array([[0, num_edges]]), run.piece_rows)


def list_features(run: Run, sample: float, piece_nbytes: int) -> Iterator[Compared]:
    """List the features of all types, with a sample of rows if they have original IDs."""
    for kind in ("node", "edge"):
        for type_id, of_type in enumerate(run.types(kind)):
            for spec in of_type.data:
                chosen = _sample(of_type.num_rows, sample if run.has_originals else 1.0)
                rows = max(1, piece_nbytes // max(8, spec.row_nbytes))
                yield Compared(run, kind, of_type.num_rows, chosen, rows, type_id, spec)


def _sample(num_rows: int, fraction: float) -> np.ndarray:
    """Choose that share from each of a thousand ranges of rows, the same in every run."""
    if fraction == 1 or not num_rows:
        return np.array([[0, num_rows]])
    size = max(MIN_STRETCH, -(-num_rows // NUM_STRETCHES))
    starts = np.arange(0, num_rows, size)
    lengths = np.minimum(size, num_rows - starts)
    chosen = np.maximum(1, np.rint(lengths * fraction)).astype(np.int64)
    starts += np.random.default_rng(0).integers(0, lengths - chosen + 1)
    return np.stack([starts, starts + chosen], axis=1)


def verify_rows(numbers: tuple[int, ...], feature: Compared) -> tuple[list[Finding], np.ndarray]:
    """Sum up a feature's rows in some parts: damaged files, and sums of hashes, uint64 (windows,)."""
    sums = np.zeros(NUM_WINDOWS, np.uint64)

    def add(part: StoredPart) -> tuple[()]:
        for rows, ids, _ in _feature_rows(part, feature):
            feature.add(rows, ids, sums)
        return ()

    return check_parts(numbers, feature.run, add), sums


def _feature_rows(part: StoredPart, feature: Compared) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Read a part's rows to compare: rows, original IDs, row numbers in the part."""
    assert feature.spec is not None, "ends of edges are no feature"
    of_kind = part.rows(feature.kind)
    name = of_kind.ids.names[feature.type_id]
    region = of_kind.features.get(name, {}).get(feature.spec.name)
    if region is None:
        return
    for first, stop in pieces(0, region.num_rows, feature.piece_rows):
        numbers = np.arange(first, stop)
        if not feature.run.has_originals:
            yield region.read(first, stop), np.zeros(stop - first, np.int64), numbers
            continue
        ids = of_kind.originals[name].read(first, stop).astype(np.int64, copy=False)
        place = np.searchsorted(feature.stretches[:, 0], ids, side="right") - 1
        chosen = (place >= 0) & (ids < feature.stretches[place, 1])
        if chosen.all():
            yield _restored(region.read(first, stop), feature, name), ids, numbers
        elif chosen.any():
            yield _restored(region.take(numbers[chosen]), feature, name), ids[chosen], numbers[chosen]


def _restored(rows: np.ndarray, feature: Compared, name: str) -> np.ndarray:
    """Return rows as in the input: maps new node IDs in them back to original ones."""
    run, spec = feature.run, feature.spec
    ntype = None if spec is None else run.mapped.get(f"{name}/{spec.name}")
    if ntype is None:
        return rows
    new_nids = open_parts(run).book.map_to_homo_nid(rows[rows >= 0], ntype)
    first = run.firsts("node")[run.schema.ntypes.index(ntype)]
    rows[rows >= 0] = run.original_nids().take(new_nids) - first
    return rows


def original_ends(
    part: StoredPart, src: np.ndarray, dst: np.ndarray, eids: np.ndarray, run: Run
) -> tuple[np.ndarray, np.ndarray]:
    """Original homogeneous IDs of the ends of own local edges, int64 (edges, 2), and of the edges themselves."""
    new_nids, originals, rows = part.graph.node_arrays["_ID"], run.original_nids(), part.edge_rows
    ends = np.stack([originals.take(new_nids.take(end)) for end in (src, dst)], axis=1).astype(np.int64, copy=False)
    stops, firsts = np.cumsum([*rows.counts.values()]), run.firsts("edge")
    types, ids = np.searchsorted(stops, eids, side="right"), np.empty(eids.size, np.int64)
    for type_id in np.unique(types).tolist():
        mine, etype = np.flatnonzero(types == type_id), rows.ids.names[type_id]
        inside = eids[mine] - (stops[type_id] - rows.counts[etype])
        ids[mine] = rows.originals[etype].take(inside) + firsts[type_id]
    return ends, ids


def sum_input(block: Block[Any], compared: Compared) -> np.ndarray:
    """Task of the passes `sum-edges` and `sum-rows`: sums of a block of the input, uint64 (windows,)."""
    (rows, first), sums = _input_rows(block, compared), np.zeros(NUM_WINDOWS, np.uint64)
    for start, stop in np.clip(compared.stretches - first, 0, len(rows)).tolist():
        if start < stop:
            ids = np.arange(first + start, first + stop) if compared.run.has_originals else np.zeros(stop - start, int)
            compared.add(rows[start:stop], ids, sums)
    return sums


def _input_rows(block: Block[Any], compared: Compared) -> tuple[np.ndarray, int]:
    """Return the rows of an input block as parts have them, and the first original ID."""
    value = block.read()
    if compared.spec is not None:
        return value.astype(compared.spec.stored_dtype, copy=False), block.first_row
    schema, first_nodes = compared.run.schema, compared.run.firsts("node")
    type_id = schema.etype_ids[block.name]
    edge_type: EdgeType = schema.edge_types[type_id]
    shifts = first_nodes[[schema.ntype_ids[ntype] for ntype in (edge_type.src, edge_type.dst)]]
    return np.stack(value, axis=1) + shifts, int(compared.run.firsts("edge")[type_id]) + block.first_row


def explain_rows(block: Block[Any], compared: Compared) -> list[Finding]:
    """Task of the passes `explain-edges` and `explain-rows`: compare a block of the input row by row."""
    (expected, first), run, spec = _input_rows(block, compared), compared.run, compared.spec
    if spec is not None and not run.has_originals:
        name = run.types(compared.kind)[compared.type_id].name
        what = f"{name}/{spec.name}: the rows of all parts differ from the input's"
        return [Finding("features", f"{compared.kind}_feat.dgl", what, name)]
    chosen = replace(compared, stretches=np.clip(compared.stretches, first, first + len(expected)))
    times = np.zeros(len(expected), np.int64)
    numbers = range(open_parts(run).num_parts)
    findings = check_parts(numbers, run, lambda part: _differences(part, chosen, expected, first, times))
    wrong = np.flatnonzero(times != 1)
    if spec is None and wrong.size:
        row, how_often = block.first_row + int(wrong[0]), f"{times[wrong[0]]} times"
        what, count = f"{block.name}: edge {row:,} of the input", wrong.size
        findings.append(
            Finding("every edge once", "orig_eids.dgl", what, block.name, row, "owned once", how_often, count)
        )
    return findings


def _differences(
    part: StoredPart, compared: Compared, expected: np.ndarray, first: int, times: np.ndarray
) -> Iterator[Finding]:
    """Compare rows of a part with the input's from `first` on, and count how often each occurs."""
    example, count = None, 0
    for rows, ids, numbers in _rows_in(part, compared, first, first + len(expected)):
        np.add.at(times, ids - first, 1)
        wanted = expected[ids - first]
        wrong = np.flatnonzero((words_of(rows) != words_of(wanted)).any(axis=1))
        count += wrong.size
        if wrong.size and example is None:
            i = int(wrong[0])
            example = int(numbers[i]), int(ids[i]), wanted[i], rows[i]
    if example is None:
        return
    number, original, wanted, actual = example
    run, spec = compared.run, compared.spec
    if spec is None:
        etype, edge = run.typed("edge", original)
        says = [" to ".join("{} {:,}".format(*run.typed("node", int(end))) for end in of) for of in (wanted, actual)]
        yield Finding(
            "edges", "graph.dgl", f"{etype}: edge {edge:,} of the input", etype, edge, says[0], says[1], count
        )
        return
    name = run.types(compared.kind)[compared.type_id].name
    what = f"{name}/{spec.name}: row {number:,} is not input row {original:,}"
    differ = words_of(wanted[np.newaxis]) != words_of(actual[np.newaxis])
    element = int(np.argmax(differ)) * wanted.size // differ.size
    says = [show_from(of.reshape(-1).tolist(), element) for of in (wanted, actual)]
    yield Finding("features", f"{compared.kind}_feat.dgl", what, name, number, says[0], says[1], count)


def _rows_in(
    part: StoredPart, compared: Compared, first: int, stop: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Rows of a part with original IDs in ``[first, stop)``, with these and their numbers in the part."""
    if compared.spec is not None:
        yield from _feature_rows(part, compared)
        return
    for src, dst, eids in part.graph.edge_pieces(0, part.num_inner_edges, rows=compared.piece_rows):
        ends, ids = original_ends(part, src, dst, eids, compared.run)
        mine = (ids >= first) & (ids < stop)
        yield ends[mine], ids[mine], eids[mine]


HOT_ROWS = "hot rows"


def verify_hot_rows(numbers: tuple[int, ...], run: Run) -> list[Finding]:
    """Check that hot rows beside parts are nodes of others, each once, and have the features of the owners.

    Holds the IDs of a part's hot rows; rows are compared in pieces.
    """
    return check_parts(numbers, run, lambda part: _wrong_hot_rows(part, run))


def _wrong_hot_rows(part: StoredPart, run: Run) -> Iterator[Finding]:
    read = find_hot_rows(part)
    if read is None:
        return
    for kind in run.schema.node_types:
        ids = read(kind.name, IDS)
        owners, order = part.book.nodes.part_of(ids, kind.name), np.argsort(ids, kind="stable")
        again = np.diff(ids[order], prepend=-1) == 0
        file, what = f"hot_nids/{kind.name}", f"{kind.name}: hot row of node"
        yield from wrong_rows(HOT_ROWS, file, what, again, ids[order], "once", "again", kind.name)
        yield from wrong_rows(HOT_ROWS, file, what, owners == part.part_id, ids, "another part's", "its own", kind.name)
        for name in (spec.name for spec in kind.data if is_fetched(spec.name)):
            for first, stop in pieces(0, ids.size, run.piece_rows):
                for owner, places in places_by_part(owners[first:stop]):
                    region = open_part(owner, run).node_rows.features[kind.name][name]
                    nodes = ids[first:stop][places]
                    own = region.take(part.book.nodes.local(nodes, owner, kind.name))
                    spec = DataSpec(name, region.dtype, region.shape[1:])
                    hot = read(kind.name, spec, first, stop)[places]
                    wrong = (words_of(hot) != words_of(own)).any(axis=1)
                    where, whose = f"hot_data/{kind.name}/{name}", f"the row of part {owner}"
                    yield from wrong_rows(HOT_ROWS, where, what, wrong, nodes, whose, "another", kind.name)


def window_size(num_ids: int) -> int:
    """IDs that share one sum of hashes: if sums differ, these are compared one by one."""
    return max(MIN_WINDOW, -(-num_ids // NUM_WINDOWS))


def words_of(rows: np.ndarray) -> np.ndarray:
    """View rows as the longest possible unsigned words, (rows, words)."""
    columns = int(np.prod(rows.shape[1:], dtype=np.int64))
    content = np.ascontiguousarray(rows).reshape(rows.shape[0], columns).view(np.uint8)
    size = next(size for size in (8, 4, 2, 1) if content.shape[1] % size == 0)
    return content.view(f"<u{size}") if content.size else content
