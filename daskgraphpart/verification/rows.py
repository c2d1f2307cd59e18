"""Passes `verify-rows` and `sum-rows`: every row of every feature, bit by bit, where its node or edge is.

Rows are hashed with their original type-wise IDs; sums of the hashes, by window of these, have to be those of the
input. Without original IDs the rows of a feature are compared as a whole, in whatever order. Bits are compared, so that
NaNs are equal to themselves, and only to themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.compare import add_row_hashes
from daskgraphpart.kernels.hashing import stream_key, uniform_ints
from daskgraphpart.verification.findings import Finding, show_from
from daskgraphpart.verification.opened import NUM_WINDOWS, Run, check_parts, opened, pieces, window_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.chunked.partitions import RowRange
    from daskgraphpart.partitioned.part import Part
    from daskgraphpart.schema import DataSpec
    from daskgraphpart.storage.region import Region
    from daskgraphpart.verification.windows import Windows

MIN_STRETCH, NUM_STRETCHES = 64, 1024


@dataclass(frozen=True, slots=True, eq=False)
class Feature:
    """A feature that is compared."""

    kind: str  # ``"node"`` or ``"edge"``
    type_id: int  # number of the node or edge type
    type_name: str  # its name
    spec: DataSpec  # name, dtype and shape
    num_rows: int  # rows of all parts
    stretches: np.ndarray  # int64 (n, 2): original IDs ``[first, stop)`` that are compared, ascending

    @property
    def window(self) -> int:
        """Original IDs of one window."""
        return window_size(self.num_rows)

    @property
    def num_compared(self) -> int:
        """Rows that are compared."""
        return int((self.stretches[:, 1] - self.stretches[:, 0]).sum())


@dataclass(frozen=True, slots=True)
class RowConfig:
    """The run, the features, and bytes of rows that a task reads at one time."""

    run: Run
    features: tuple[Feature, ...]
    piece_nbytes: int

    def piece_rows(self, feature: Feature) -> int:
        """Rows of a feature that a task reads at one time."""
        return max(1, self.piece_nbytes // max(8, feature.spec.row_nbytes))


@dataclass(frozen=True, slots=True, eq=False)
class RowSums:
    """What is wrong with the rows of some parts; sums of hashes by feature and window, uint64 (features, windows)."""

    findings: list[Finding]
    sums: np.ndarray


def sampled_stretches(num_rows: int, fraction: float, name: str) -> np.ndarray:
    """Choose a stretch of that share out of each of a thousand ranges of rows; the same in every run."""
    if fraction == 1 or not num_rows:
        return np.array([[0, num_rows]])
    size = max(MIN_STRETCH, -(-num_rows // NUM_STRETCHES))
    starts = np.arange(0, num_rows, size)
    lengths = np.minimum(size, num_rows - starts)
    chosen = np.maximum(1, np.rint(lengths * fraction)).astype(np.int64)
    draws = np.empty(starts.size, np.uint16)
    uniform_ints(stream_key(0, f"sample/{name}"), 0, 1 << 16, draws)
    starts += (lengths - chosen + 1) * draws.astype(np.int64) >> 16
    return np.stack([starts, starts + chosen], axis=1)


def verify_rows(numbers: tuple[int, ...], config: RowConfig) -> RowSums:
    """Sum up the rows of some parts."""
    sums = np.zeros((len(config.features), NUM_WINDOWS), np.uint64)
    return RowSums(check_parts(numbers, config.run, lambda part: _sum_part(part, config, sums)), sums)


def _sum_part(part: Part, config: RowConfig, sums: np.ndarray) -> Iterator[Finding]:
    for feature, of_feature in zip(config.features, sums, strict=True):
        for rows, ids, _ in _rows_of_part(part, feature, config):
            _add(rows, ids, feature, config.run, of_feature)
    yield from _check_splits(part, config.run)


def _check_splits(part: Part, run: Run) -> Iterator[Finding]:
    """Compare the lists of training, validation and test nodes with the masks of the part."""
    for key, ids in part.split_nids.items():
        ntype, _, mask = key.rpartition("/")
        marks, done, wrong = part.node_regions[ntype][mask], 0, None
        low = part.book.part_range(part.part_id, ntype)[0]
        for first, stop in pieces(0, marks.num_rows, run.piece_rows):
            expected = low + first + np.flatnonzero(marks.read(first, stop).reshape(stop - first, -1).any(axis=1))
            found = ids[done : done + expected.size]
            if not np.array_equal(found, expected):
                differ = np.flatnonzero(found != expected[: found.size])
                wrong = done + (int(differ[0]) if differ.size else int(found.size))
                break
            done += expected.size
        if wrong is None and done != ids.size:
            wrong = done
        if wrong is not None:
            what = f"{key}: entry {wrong:,} is not the next node that the mask marks"
            yield Finding("split", f"part{part.part_id}/split_nids.dgl", what, part.part_id, ntype, wrong)


def _rows_of_part(part: Part, feature: Feature, config: RowConfig) -> Iterator[tuple[np.ndarray, np.ndarray, int]]:
    """Read the rows of a part that are compared: rows, original IDs, first row in the part."""
    region = _region(part, feature)
    if region is None:
        return
    originals = (part.orig_nid_regions if feature.kind == "node" else part.orig_eid_regions).get(feature.type_name)
    for first, stop in pieces(0, region.num_rows, config.piece_rows(feature)):
        if originals is None or not config.run.has_originals:
            yield region.read(first, stop), np.zeros(stop - first, np.int64), first
            continue
        ids = originals.read(first, stop).astype(np.int64, copy=False)
        place = np.searchsorted(feature.stretches[:, 0], ids, side="right") - 1
        chosen = np.flatnonzero((place >= 0) & (ids < feature.stretches[place, 1]))
        for run in np.split(chosen, np.flatnonzero(np.diff(chosen) > 1) + 1):
            if run.size:
                low, high = int(run[0]), int(run[-1]) + 1
                yield region.read(first + low, first + high), ids[low:high], first + low


def _region(part: Part, feature: Feature) -> Region | None:
    regions = part.node_regions if feature.kind == "node" else part.edge_regions
    return regions.get(feature.type_name, {}).get(feature.spec.name)


def _add(rows: np.ndarray, ids: np.ndarray, feature: Feature, run: Run, sums: np.ndarray) -> None:
    bins = ids // feature.window if run.has_originals else np.zeros(ids.size, np.int64)
    add_row_hashes(_words(rows), ids, bins, sums)


def _words(rows: np.ndarray) -> np.ndarray:
    """Rows as the longest unsigned words that they are made of, (rows, words)."""
    content = np.ascontiguousarray(rows).reshape(rows.shape[0], -1).view(np.uint8)
    size = next(size for size in (8, 4, 2, 1) if content.shape[1] % size == 0)
    return content.view(f"<u{size}") if content.size else content


@dataclass(frozen=True, slots=True)
class InputRows:
    """A partition of one feature of the input, by number of the feature."""

    number: int
    rows: RowRange


def sum_rows(values: np.ndarray, unit: InputRows, config: RowConfig) -> np.ndarray:
    """Task of the pass `sum-rows`: sums of a partition of the input, uint64 (windows,)."""
    feature, sums, first = config.features[unit.number], np.zeros(NUM_WINDOWS, np.uint64), unit.rows.first_row
    values = _stored(values, unit.rows, feature)
    for start, stop in np.clip(feature.stretches - first, 0, len(values)).tolist():
        if start < stop:
            ids = np.arange(first + start, first + stop)
            ids = ids if config.run.has_originals else np.zeros_like(ids)
            _add(values[start:stop], ids, feature, config.run, sums)
    return sums


def _stored(values: np.ndarray, rows: RowRange, feature: Feature) -> np.ndarray:
    """Return rows of the input in the dtype in which partitions have them."""
    rows.check(len(values))
    return values.astype(feature.spec.stored_dtype, copy=False)


@dataclass(frozen=True, slots=True)
class ExplainRows:
    """The run, a feature, and the rows of its windows in the input."""

    config: RowConfig
    feature: Feature
    windows: Windows


def keep_rows(values: np.ndarray, rows: RowRange, config: ExplainRows) -> None:
    """Task of the pass `keep-rows`: keep the rows of a partition that are in the windows."""
    config.windows.write(_stored(values, rows, config.feature), rows.first_row)


def explain_rows(number: int, config: ExplainRows) -> list[Finding]:
    """Task of the pass `explain-rows`: compare the rows of a window of a feature one by one, by original ID."""
    run, findings = config.config.run, []
    for low, high in pieces(*config.windows.ranges[number], config.config.piece_rows(config.feature)):
        feature = replace(config.feature, stretches=np.array([[low, high]]))
        expected, numbers = config.windows.read(number, low, high), range(opened(run).num_parts)
        findings += check_parts(
            numbers,
            run,
            lambda part, f=feature, e=expected: _differences(part, f, e, config.config),  # type: ignore[misc]
        )
    return findings


def _differences(part: Part, feature: Feature, expected: np.ndarray, config: RowConfig) -> Iterator[Finding]:
    first, count = None, 0
    for rows, ids, start in _rows_of_part(part, feature, config):
        wanted = expected[ids - feature.stretches[0, 0]]
        wrong = np.flatnonzero((_words(rows) != _words(wanted)).any(axis=1))
        count += wrong.size
        if wrong.size and first is None:
            i = int(wrong[0])
            values = [of.reshape(-1).tolist() for of in (wanted[i], rows[i])]
            element = int(np.argmax(_words(wanted[i : i + 1]) != _words(rows[i : i + 1]))) * len(values[0])
            first = start + i, int(ids[i]), values, element // _words(rows[:1]).shape[1]
    if first is not None:
        row, original, values, element = first
        what = f"{feature.type_name}/{feature.spec.name}: row {row:,} is not input row {original:,}"
        yield Finding(
            "features", f"part{part.part_id}/{feature.kind}_feat.dgl", what, part.part_id, feature.type_name, row,
            show_from(values[0], element), show_from(values[1], element), count,
        )  # fmt: skip
