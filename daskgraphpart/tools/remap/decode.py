"""Turn scores into the number of their largest column, and codes of a feature into the text they stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from daskgraphpart.errors import InputFileError, OptionError
from daskgraphpart.graph.companion_files import codes_name
from daskgraphpart.graph.read_parquet import open_parquet
from daskgraphpart.partitioned.stored_rows import BLOCK_NBYTES
from daskgraphpart.storage.files import is_file
from daskgraphpart.storage.paths import join_path, resolve_path, to_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from daskgraphpart.storage.paths import Location

MISSING_CODE = -1


class LargestColumn:
    """Rows of one number: which column of other rows is the largest, the first of equal ones."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows
        self.shape, self.ndim, self.dtype = rows.shape[:1], 1, np.dtype(np.int64)
        self.step = max(1, BLOCK_NBYTES // max(1, rows.shape[1] * rows.dtype.itemsize))

    def __getitem__(self, ids: np.ndarray) -> np.ndarray:
        pieces = [ids[start : start + self.step] for start in range(0, len(ids), self.step)]
        return np.concatenate([_largest(self.rows[piece]) for piece in pieces] or [np.empty(0, self.dtype)])


def largest_column(rows: Any, place: str) -> Any:
    """Return rows with the number of each row's largest column; dask arrays stay lazy."""
    if len(rows.shape) != 2 or not rows.shape[1]:
        what, hint = "there are no columns to choose from", "leave it out for rows of one number"
        raise OptionError(what, place=place, expected="a score per class", found=f"shape {rows.shape}", hint=hint)
    if hasattr(rows, "dask"):
        return rows.rechunk({1: -1}).map_blocks(_largest, dtype=np.int64, drop_axis=1)
    return LargestColumn(rows)


def _largest(scores: np.ndarray) -> np.ndarray:
    if (scores != scores).any():
        raise OptionError("some scores are NaN, so no column is the largest", hint="replace them first")
    classes: np.ndarray = np.argmax(scores, axis=1)
    return classes


def codes_of(rows: Any, place: str) -> Any:
    """Return codes: rows of integers as they are, or the largest columns of scores."""
    if len(rows.shape) == 2:
        return largest_column(rows, place)
    if rows.dtype.kind not in "iu" or len(rows.shape) != 1:
        expected, kind = "integers, or a score per class", f"{rows.dtype} of shape {rows.shape}"
        raise OptionError("these rows are no codes of categories", place=place, expected=expected, found=kind)
    return rows


def find_categories(of_type: str, features: Collection[str], decoded: str, places: Iterable[Location]) -> Location:
    """Find the file with the text of a feature's codes: a path, or in one of these directories of graphs."""
    if decoded.endswith(".parquet"):
        return resolve_path(decoded)
    for place in places:
        paths = {feature: join_path(place, codes_name(of_type, feature)) for feature in features}
        known = [feature for feature, path in paths.items() if is_file(path)]
        if decoded in known:
            return paths[decoded]
        if known:
            raise OptionError(f"no text of {of_type}/{decoded}", option="decode", expected=f"one of {', '.join(known)}")
    hint = f"give the graph by --id-map, or the file: --decode GRAPH/{codes_name(of_type, decoded)}"
    raise OptionError(f"no text of {of_type}/{decoded} next to the partitions", option="decode", hint=hint)


class Categories:
    """The text that codes of a feature stand for."""

    def __init__(self, path: Location) -> None:
        self.path = path
        with open_parquet(to_key(path)) as file:
            self.texts = file.read().column(0).combine_chunks()
        if not pa.types.is_string(self.texts.type):
            expected = "a file of a graph's categories"
            raise InputFileError("no text of codes", file=str(path), expected=expected, found=str(self.texts.type))

    def decode(self, codes: np.ndarray) -> Any:
        """Return an Arrow array with the text of each code; null for the code of missing values."""
        outside = codes[(codes < MISSING_CODE) | (codes >= len(self.texts))]
        if outside.size:
            expected = f"codes below {len(self.texts):,}, or {MISSING_CODE} for missing values"
            raise OptionError(
                "no category has this code", file=str(self.path), expected=expected, found=int(outside[0])
            )
        return self.texts.take(pa.array(codes, pa.int64(), mask=codes == MISSING_CODE))


def decode_block(codes: np.ndarray, path: Location) -> np.ndarray:
    """Return the text of codes as an array of objects."""
    texts: np.ndarray = Categories(path).decode(codes).to_numpy(zero_copy_only=False)
    return texts
