"""Owners of an earlier graph, which the option `extend` names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daskgraphpart.partitioner.assign_options import AssignOptions
    from daskgraphpart.partitioner.extend.extend_owners import ExtendOwners


def find_start(options: AssignOptions) -> ExtendOwners | None:
    """Return the owners that the options extend, if any."""
    if options.extend is None:
        return None
    from daskgraphpart.partitioner.extend.extend_owners import ExtendOwners  # imports DuckDB, for few jobs

    return ExtendOwners(options)
