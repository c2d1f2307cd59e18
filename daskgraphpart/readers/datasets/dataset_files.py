"""What readers of public data sets share: required files, counts, masks, torch files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from daskgraphpart.extension import InputFileError, InputFileNotFoundError, MadeRows, import_extra, read_npy_header


def require_files(directory: Path, kind: str, paths: Iterable[Path]) -> None:
    """Refuse a directory with missing files; the error lists all."""
    missing = [str(path.relative_to(directory)) for path in paths if not path.is_file()]
    if missing:
        what = f"not a complete data set of kind {kind!r}"
        gap = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        raise InputFileNotFoundError(what, file=directory, found=gap, hint="give the directory that was unpacked")


def require_shape(paths: Iterable[Path], *shape: int | None) -> None:
    """Refuse npy files of another shape; None stands for any length."""
    for path in paths:
        actual = read_npy_header(path).shape
        if len(actual) != len(shape) or any(length not in (None, n) for length, n in zip(shape, actual, strict=True)):
            expected = f"({', '.join('any' if length is None else str(length) for length in shape)})"
            raise InputFileError("wrong shape of an array", file=path, expected=expected, found=actual)


def count_in(path: Path, counts: Mapping[str, Any], key: str) -> int:
    """Return a number of nodes from a dictionary."""
    count = counts.get(key)
    if not isinstance(count, (int, np.integer)) or count < 0:
        raise InputFileError(
            "the number of nodes is missing", file=path, place=key, expected="an integer from 0", found=count
        )
    return int(count)


def mask_of(path: Path, place: str, ids: Any, num_nodes: int) -> MadeRows:
    """Rows of a mask, true for the listed nodes."""
    listed = np.asarray(ids)
    is_list = listed.ndim == 1 and listed.dtype.kind in "iu"
    if not is_list or (listed.size and not 0 <= listed.min() <= listed.max() < num_nodes):
        values = f"{listed.min():,} to {listed.max():,}" if is_list else f"{listed.dtype}, shape {listed.shape}"
        raise InputFileError(
            "not a list of nodes", file=path, place=place, expected=f"IDs below {num_nodes:,}", found=values
        )
    return MadeRows(np.dtype(bool), (num_nodes,), partial(_read_mask, np.sort(listed)), (str(path),))


def _read_mask(ids: np.ndarray, start: int, stop: int) -> np.ndarray:
    mask = np.zeros(stop - start, bool)
    mask[ids[slice(*np.searchsorted(ids, (start, stop)))] - start] = True
    return mask


DTYPES = ("int8", "int16", "int32", "int64", "uint8", "float32", "float64")
HINT = "load it with torch 2.6 or later; if you trust it: torch.save(torch.load(path, weights_only=False), path)"


def load_torch(path: Path) -> Mapping[str, Any]:
    """Load a dictionary."""
    torch = import_extra("torch", "this data set has files of torch", file=path)
    makers: tuple[Any, ...] = np.empty(0).__reduce__()[0], np.float64(0).__reduce__()[0]
    homes = ("numpy.core.multiarray", "numpy._core.multiarray")  # before numpy 2, and since
    named = [(maker, f"{home}.{maker.__name__}") for maker in makers for home in homes]
    try:
        with torch.serialization.safe_globals([np.ndarray, np.dtype, *(type(np.dtype(n)) for n in DTYPES), *named]):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as fault:  # torch raises nearly everything for damaged files
        lines = str(fault).rpartition("WeightsUnpickler error:")[2].strip().splitlines()
        content = next(iter(lines), type(fault).__name__)
        raise InputFileError("cannot read this torch file", file=path, found=content, hint=HINT) from fault
    if not isinstance(content, dict):
        raise InputFileError(
            "unexpected content of a torch file", file=path, expected="a dictionary", found=type(content).__name__
        )
    return content
