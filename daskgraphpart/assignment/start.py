"""Owners of an earlier graph, which the option `extend` names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daskgraphpart.assignment.assign_options import AssignOptions
    from daskgraphpart.plugins.extend.extend_owners import ExtendOwners
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True)
class OldParts:
    """The old part of every node, int32, -1 for new ones; and a summary in words."""

    parts: Region
    matched: str


def find_start(options: AssignOptions) -> ExtendOwners | None:
    """Return the owners that the options extend, if any."""
    if options.extend is None:
        return None
    from daskgraphpart.plugins.extend.extend_owners import ExtendOwners  # imports DuckDB, for few jobs

    return ExtendOwners(options)
