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
