"""A form of files with the owners of a node type: how they are read and written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import AssignmentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np

    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True, eq=False)
class OwnerForm:
    """How owners are read and written."""

    read: Callable[[str, int | None], Iterator[np.ndarray]]
    """Takes a path, and the number of nodes if known; yields integers in batches, of any dtype."""
    write: Callable[[Region, str], None]
    """Takes owners, and a path."""
    is_directory: bool = False


def check_integers(path: str, rows: Any) -> None:
    """Refuse an array of anything but one integer per row."""
    if rows.dtype.kind not in "iu" or len(rows.shape) != 1:
        kind = f"{rows.dtype} of shape {rows.shape}"
        raise AssignmentError("not a one-dimensional array of integers", file=path, found=kind)
