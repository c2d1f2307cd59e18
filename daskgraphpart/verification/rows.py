"""Passes `verify-rows` and `sum-rows`: every row of every feature, bit by bit, where its node or edge is.

Rows are hashed with their original type-wise IDs; sums of the hashes, by window of these, have to be those of the
input. Where sums differ, the pass `explain-rows` compares a partition of the input row by row. Without original IDs the
rows of a feature are compared as a whole, in whatever order. Bits are compared, so that NaNs are equal to themselves,
and only to themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.compare import add_row_hashes
from daskgraphpart.verification.findings import Finding, show_from
from daskgraphpart.verification.run import NUM_WINDOWS, Run, check_parts, opened, pieces, window_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from daskgraphpart.chunked.partitions import RowRange
    from daskgraphpart.partitioned.part import Part
    from daskgraphpart.schema import DataSpec, RowType

MIN_STRETCH, NUM_STRETCHES = 64, 1024


@dataclass(frozen=True, slots=True, eq=False)
class Feature:
    """A feature that is compared in a run."""

    run: Run
    kind: str  # ``"node"`` or ``"edge"``
    type_id: int  # number of the node or edge type
    type_name: str  # its name in the input
    spec: DataSpec  # name, dtype and shape
    num_rows: int  # rows of all parts
    stretches: np.ndarray  # int64 (n, 2): original IDs ``[first, stop)`` that are compared, ascending
    piece_rows: int  # rows that a task reads at one time

    @property
    def window(self) -> int:
        """Original IDs of one window."""
        return window_size(self.num_rows)

    @property
    def num_compared(self) -> int:
        """Rows that are compared."""
        return int((self.stretches[:, 1] - self.stretches[:, 0]).sum())


def list_features(run: Run, sample: float, piece_nbytes: int) -> list[Feature]:
    """List the features of all types; of a sample of their rows, if these have original IDs."""
    found = []
    kinds: dict[str, Sequence[RowType]] = {"node": run.schema.node_types, "edge": run.schema.edge_types}
    for kind, types in kinds.items():
        for type_id, of_type in enumerate(types):
            for spec in of_type.data:
                chosen = _sample(of_type.num_rows, sample if run.has_originals else 1.0)
                rows = max(1, piece_nbytes // max(8, spec.row_nbytes))
                found.append(Feature(run, kind, type_id, of_type.name, spec, of_type.num_rows, chosen, rows))
    return found


def _sample(num_rows: int, fraction: float) -> np.ndarray:
    """Choose a stretch of that share out of each of a thousand ranges of rows; the same in every run."""
    if fraction == 1 or not num_rows:
        return np.array([[0, num_rows]])
    size = max(MIN_STRETCH, -(-num_rows // NUM_STRETCHES))
    starts = np.arange(0, num_rows, size)
    lengths = np.minimum(size, num_rows - starts)
    chosen = np.maximum(1, np.rint(lengths * fraction)).astype(np.int64)
    starts += np.random.default_rng(0).integers(0, lengths - chosen + 1)
    return np.stack([starts, starts + chosen], axis=1)


def verify_rows(numbers: tuple[int, ...], feature: Feature) -> tuple[list[Finding], np.ndarray]:
    """Sum up the rows of some parts: damaged files, and sums of hashes, uint64 (windows,)."""
    sums = np.zeros(NUM_WINDOWS, np.uint64)
    return check_parts(numbers, feature.run, lambda part: _sum_part(part, feature, sums)), sums


def _sum_part(part: Part, feature: Feature, sums: np.ndarray) -> tuple[()]:
    for rows, ids, _ in _rows_of_part(part, feature):
        _add(rows, ids, feature, sums)
    return ()


def _rows_of_part(part: Part, feature: Feature) -> Iterator[tuple[np.ndarray, np.ndarray, int]]:
    """Read the rows of a part that are compared: rows, original IDs, first row in the part."""
    is_node = feature.kind == "node"
    name = (part.book.ntypes if is_node else part.book.etypes)[feature.type_id]
    region = (part.node_regions if is_node else part.edge_regions).get(name, {}).get(feature.spec.name)
    if region is None:
        return
    originals = (part.orig_nid_regions if is_node else part.orig_eid_regions).get(name)
    for first, stop in pieces(0, region.num_rows, feature.piece_rows):
        if originals is None or not feature.run.has_originals:
            yield region.read(first, stop), np.zeros(stop - first, np.int64), first
            continue
        ids = originals.read(first, stop).astype(np.int64, copy=False)
        place = np.searchsorted(feature.stretches[:, 0], ids, side="right") - 1
        chosen = np.flatnonzero((place >= 0) & (ids < feature.stretches[place, 1]))
        for run in np.split(chosen, np.flatnonzero(np.diff(chosen) > 1) + 1):
            if run.size:
                low, high = int(run[0]), int(run[-1]) + 1
                yield region.read(first + low, first + high), ids[low:high], first + low


def _add(rows: np.ndarray, ids: np.ndarray, feature: Feature, sums: np.ndarray) -> None:
    if not feature.run.has_originals:
        ids = np.zeros_like(ids)
    add_row_hashes(_words(rows), ids, ids // feature.window, sums)


def _words(rows: np.ndarray) -> np.ndarray:
    """Rows as the longest unsigned words that they are made of, (rows, words)."""
    content = np.ascontiguousarray(rows).reshape(rows.shape[0], -1).view(np.uint8)
    size = next(size for size in (8, 4, 2, 1) if content.shape[1] % size == 0)
    return content.view(f"<u{size}") if content.size else content


def sum_rows(values: np.ndarray, rows: RowRange, feature: Feature) -> np.ndarray:
    """Task of the pass `sum-rows`: sums of a partition of the input, uint64 (windows,)."""
    values, first, sums = _stored(values, rows, feature), rows.first_row, np.zeros(NUM_WINDOWS, np.uint64)
    for start, stop in np.clip(feature.stretches - first, 0, len(values)).tolist():
        if start < stop:
            _add(values[start:stop], np.arange(first + start, first + stop), feature, sums)
    return sums


def _stored(values: np.ndarray, rows: RowRange, feature: Feature) -> np.ndarray:
    """Return rows of the input in the dtype in which partitions have them."""
    rows.check(len(values))
    return values.astype(feature.spec.stored_dtype, copy=False)


def explain_rows(values: np.ndarray, rows: RowRange, feature: Feature) -> list[Finding]:
    """Task of the pass `explain-rows`: compare the rows of a partition of the input one by one, by original ID."""
    if not feature.run.has_originals:
        what = f"{feature.type_name}/{feature.spec.name}: the rows of all parts are not those of the input"
        return [Finding("features", f"{feature.kind}_feat.dgl", what, feature.type_name)]
    expected, first = _stored(values, rows, feature), rows.first_row
    chosen = replace(feature, stretches=np.clip(feature.stretches, first, first + len(values)))
    numbers = range(opened(feature.run).num_parts)
    return check_parts(numbers, feature.run, lambda part: _differences(part, chosen, expected, first))


def _differences(part: Part, feature: Feature, expected: np.ndarray, first: int) -> Iterator[Finding]:
    example, count = None, 0
    for rows, ids, start in _rows_of_part(part, feature):
        wanted = expected[ids - first]
        differ = _words(rows) != _words(wanted)
        wrong = np.flatnonzero(differ.any(axis=1))
        count += wrong.size
        if wrong.size and example is None:
            i = int(wrong[0])
            values = [of[i].reshape(-1).tolist() for of in (wanted, rows)]
            element = int(np.argmax(differ[i])) * len(values[0]) // differ.shape[1]
            example = start + i, int(ids[i]), [show_from(of, element) for of in values]
    if example is not None:
        row, original, says = example
        what = f"{feature.type_name}/{feature.spec.name}: row {row:,} is not input row {original:,}"
        file = f"{feature.kind}_feat.dgl"
        yield Finding("features", file, what, feature.type_name, row, says[0], says[1], count)
