"""Import packages that come with extras, or say what to do when they are not there."""

from __future__ import annotations

import importlib
from typing import Any

from daskgraphpart.errors import MissingPackageError


def import_extra(module: str, what: str, hint: str = "", *, file: object = None) -> Any:
    """Import a module, or say what needs it; the hint is how to install it, by default with the extra of its name."""
    try:
        return importlib.import_module(module)
    except ImportError as fault:
        package = module.partition(".")[0]
        hint = hint or f'pip install "daskgraphpart[{package}]"'
        raise MissingPackageError(f"{what}, and {package} is not installed", file=file, hint=hint) from fault


def torch_module() -> Any:
    """Import torch; a `MissingPackageError` if it is not installed."""
    hint = 'pip install "daskgraphpart[torch]", or use open_partitions, which returns dask arrays'
    return import_extra("torch", "this returns torch tensors", hint)


def pyg_module(name: str) -> Any:
    """Import a module of torch_geometric; a `MissingPackageError` if it is not installed."""
    torch_module()
    return import_extra(name, "this is for PyG", "pip install torch_geometric")
