"""`IdMapFile`: the map of users' own IDs of a node type, for layouts that write them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskgraphpart.storage.files import store_of
from daskgraphpart.storage.paths import to_path

if TYPE_CHECKING:
    import numpy as np

    from daskgraphpart.storage.paths import Location


@dataclass(frozen=True, slots=True)
class IdMapFile:
    """A map in `GraphSizes.id_maps`."""

    path: Location

    def on_disk(self) -> IdMapFile:
        """The map, or a copy of one in a store on this machine's disk, made once."""
        return IdMapFile(to_path(store_of(self.path).local_copy(self.path) or self.path))

    def mean_bytes(self) -> int:
        """Bytes of an ID in memory, on average."""
        return int(_id_map().mean_bytes(self.path))

    def take(self, rows: np.ndarray) -> Any:
        """Own IDs of nodes, by original ID: an Arrow array of integers or strings."""
        return _id_map().take_column(self.path, rows)


def _id_map() -> Any:
    from daskgraphpart.ids import id_map  # imports pyarrow

    return id_map
