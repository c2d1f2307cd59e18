"""What the readers of public data sets share: a look at all files before work, counts, masks of ID lists."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.rows import ReadRows
from daskgraphpart.errors import InputFileError, InputFileNotFoundError
from daskgraphpart.storage.region import read_npy_header

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


def require_files(directory: Path, kind: str, paths: Iterable[Path]) -> None:
    """Refuse a directory in which files are missing; the error lists them all."""
    missing = [str(path.relative_to(directory)) for path in paths if not path.is_file()]
    if missing:
        what = f"not a whole data set of the kind {kind!r}"
        hint = f"{len(missing)} missing; give the directory that was unpacked"
        raise InputFileNotFoundError(what, file=directory, expected=", ".join(missing), found="none of them", hint=hint)


def require_shape(paths: Iterable[Path], *shape: int | None) -> None:
    """Refuse npy files of another shape; an axis that is None has any length."""
    for path in paths:
        found = read_npy_header(path).shape
        if len(found) != len(shape) or any(length not in (None, n) for length, n in zip(shape, found, strict=True)):
            expected = f"({', '.join('any' if length is None else str(length) for length in shape)})"
            raise InputFileError("array of another shape", file=path, expected=expected, found=found)


def count_in(path: Path, counts: Mapping[str, Any], key: str) -> int:
    """Return a number of nodes that a dictionary holds."""
    count = counts.get(key)
    if not isinstance(count, (int, np.integer)) or count < 0:
        raise InputFileError("no number of nodes", file=path, place=key, expected="an integer from 0", found=count)
    return int(count)


def mask_of(path: Path, place: str, ids: Any, num_nodes: int) -> ReadRows:
    """Rows that are true for the nodes of a list."""
    listed = np.asarray(ids)
    is_list = listed.ndim == 1 and listed.dtype.kind in "iu"
    if not is_list or (listed.size and not 0 <= listed.min() <= listed.max() < num_nodes):
        found = f"{listed.min():,} to {listed.max():,}" if is_list else f"{listed.dtype}, shape {listed.shape}"
        raise InputFileError(
            "not a list of nodes", file=path, place=place, expected=f"IDs below {num_nodes:,}", found=found
        )
    return ReadRows(np.dtype(bool), (num_nodes,), partial(_read_mask, np.sort(listed)), (str(path),))


def _read_mask(ids: np.ndarray, start: int, stop: int) -> np.ndarray:
    mask = np.zeros(stop - start, bool)
    mask[ids[slice(*np.searchsorted(ids, (start, stop)))] - start] = True
    return mask
