"""The noun `IdMaps`: what owners and partitions say of the maps of a graph's IDs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from daskgraphpart.errors import LayoutError
from daskgraphpart.storage.json_file import convert_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.storage.paths import Location


@dataclass(frozen=True, slots=True)
class IdMaps:
    """Maps of a graph's IDs, as its owners and partitions name them: their directory, and a checksum by node type.

    The path is that from the directory of whoever names them. An earlier version wrote no checksums.
    """

    directory: str
    checksums: Mapping[str, str]

    @property
    def content(self) -> dict[str, Any]:
        """Keys and values for JSON."""
        return {"id_map": self.directory, "id_map_checksums": dict(self.checksums)}

    @classmethod
    def of(cls, content: Mapping[str, Any], file: Location) -> IdMaps | None:
        """Take them out of what a JSON file holds, if it names some."""
        what = "not maps of IDs"
        found = convert_json(dict(content), _StatedMaps, LayoutError, what, file=str(file))
        return None if found.id_map is None else cls(found.id_map, found.id_map_checksums)


class _StatedMaps(msgspec.Struct):
    id_map: str | None = None
    id_map_checksums: dict[str, str] = {}
