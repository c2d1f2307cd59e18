"""Import torch and PyG, in this one place, or say what to do when they are not there."""

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


def pyg_module(name: str) -> Any:
    """Import a module of torch_geometric; a `MissingPackageError` if it is not installed."""
    torch_module()
    try:
        return importlib.import_module(name)
    except ImportError as fault:
        raise MissingPackageError(
            "this is for PyG, and torch_geometric is not installed", hint="pip install torch_geometric"
        ) from fault
