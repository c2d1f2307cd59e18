"""Load files of `torch.save` that hold numbers, tensors and arrays of numpy; nothing in them can run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import InputFileError
from daskgraphpart.extras import import_extra

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

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
            found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as fault:  # torch raises nearly everything at damaged files
        lines = str(fault).rpartition("WeightsUnpickler error:")[2].strip().splitlines()
        found = next(iter(lines), type(fault).__name__)
        raise InputFileError("not a torch file that can be read", file=path, found=found, hint=HINT) from fault
    if not isinstance(found, dict):
        raise InputFileError("another torch file", file=path, expected="a dictionary", found=type(found).__name__)
    return found
