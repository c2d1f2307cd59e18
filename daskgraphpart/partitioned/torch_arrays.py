"""Import torch and PyG, in this one place, or say what to do when they are not there."""

from __future__ import annotations

from typing import Any

from daskgraphpart.extras import import_extra


def torch_module() -> Any:
    """Import torch; a `MissingPackageError` if it is not installed."""
    hint = 'pip install "daskgraphpart[torch]", or use open_partitions, which returns dask arrays'
    return import_extra("torch", "this returns torch tensors", hint)


def pyg_module(name: str) -> Any:
    """Import a module of torch_geometric; a `MissingPackageError` if it is not installed."""
    torch_module()
    return import_extra(name, "this is for PyG", "pip install torch_geometric")
