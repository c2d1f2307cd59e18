"""The noun `IdMaps`: where a graph's ID maps are, as owners and partitions record it."""

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
    """A graph's ID maps as recorded by its owners and partitions: their directory, and a checksum by node type.

    The path is relative to the directory that records it. Earlier versions had no checksums.
    """

    directory: str
    checksums: Mapping[str, str]

    @property
    def content(self) -> dict[str, Any]:
        """Keys and values for JSON."""
        return {"id_map": self.directory, "id_map_checksums": dict(self.checksums)}

    @classmethod
    def of(cls, content: Mapping[str, Any], file: Location) -> IdMaps | None:
        """Read them from a JSON file's content, if it has them."""
        what = "not maps of IDs"
        stated = convert_json(dict(content), _StatedMaps, LayoutError, what, file=str(file))
        return None if stated.id_map is None else cls(stated.id_map, stated.id_map_checksums)


class _StatedMaps(msgspec.Struct):
    id_map: str | None = None
    id_map_checksums: dict[str, str] = {}
