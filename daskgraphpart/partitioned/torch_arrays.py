"""Import torch, in this one place, or say what to do when it is not there."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import MissingPackageError

if TYPE_CHECKING:
    from daskgraphpart.storage.region import Region


def torch_module() -> Any:
    """Import torch; a `MissingPackageError` if it is not installed."""
    try:
        return importlib.import_module("torch")
    except ImportError as fault:
        raise MissingPackageError(
            "this returns torch tensors, and torch is not installed",
            hint='pip install "daskgraphpart[torch]", or use open_partitions, which returns dask arrays',
        ) from fault


def read_tensor(region: Region) -> Any:
    """Read a region into a torch tensor of its own memory."""
    return torch_module().from_numpy(region.read())
