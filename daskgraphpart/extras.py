"""Import optional packages, or say how to install them; recognise their objects without importing them."""

from __future__ import annotations

import importlib
from typing import Any

from daskgraphpart.errors import MissingPackageError


def how_to_install(extra: str) -> str:
    """Say how to install an extra; no index has the package yet."""
    return f'run pip install ".[{extra}]" in a clone of daskgraphpart'


def import_extra(module: str, what: str, hint: str = "", *, file: object = None) -> Any:
    """Import a module, or say what needs it and how to install it (default: the extra of its name)."""
    try:
        return importlib.import_module(module)
    except ImportError as fault:
        package = module.partition(".")[0]
        what += f", and {package} is not installed"
        raise MissingPackageError(what, file=file, hint=hint or how_to_install(package)) from fault


def torch_module() -> Any:
    """Import torch; a `MissingPackageError` if it is not installed."""
    hint = f"{how_to_install('torch')}, or use open_partitions, which returns dask arrays"
    return import_extra("torch", "this returns torch tensors", hint)


def pyg_module(name: str) -> Any:
    """Import a module of torch_geometric; a `MissingPackageError` if it is not installed."""
    torch_module()
    return import_extra(name, "this is for PyG", "run pip install torch_geometric")


def is_made_by(library: str, value: Any) -> bool:
    """Whether an object's class is one of a library, which is not imported."""
    return library in {kind.__module__.partition(".")[0] for kind in type(value).__mro__}


def is_dgl_graph(value: Any) -> bool:
    """Whether an object is a `DGLGraph`."""
    return is_made_by("dgl", value) and hasattr(value, "canonical_etypes")
