"""Import torch, in this one place, or say what to do when it is not there."""

from __future__ import annotations

import importlib
from typing import Any

from daskgraphpart.errors import MissingPackageError


def torch_module() -> Any:
    """Import torch; a `MissingPackageError` if it is not installed."""
    try:
        return importlib.import_module("torch")
    except ImportError as fault:
        raise MissingPackageError(
            "this returns torch tensors, and torch is not installed",
            hint='pip install "daskgraphpart[torch]", or use open_partitions, which returns dask arrays',
        ) from fault
