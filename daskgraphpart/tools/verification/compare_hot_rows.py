"""Pass `verify-hot-rows`: hot rows beside a part are nodes of others, each once, and have the features of the owners.

Holds the IDs of a part's hot rows; rows are compared in pieces.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.ids.ranges import places_by_part
from daskgraphpart.partitioned.choose_hot_rows import IDS, find_hot_rows
from daskgraphpart.schema import DataSpec, is_fetched
from daskgraphpart.tools.verification.findings import Finding, wrong_rows
from daskgraphpart.tools.verification.row_sums import words_of
from daskgraphpart.tools.verification.verify_run import Run, check_parts, open_part, pieces

if TYPE_CHECKING:
    from daskgraphpart.partitioned.part import Part

CHECK = "hot rows"


def verify_hot_rows(numbers: tuple[int, ...], run: Run) -> list[Finding]:
    """Compare the hot rows beside some parts with the features of the parts that own them."""
    return check_parts(numbers, run, lambda part: _differences(part, run))


def _differences(part: Part, run: Run) -> Iterator[Finding]:
    read = find_hot_rows(part)
    if read is None:
        return
    for kind in run.schema.node_types:
        ids = read(kind.name, IDS)
        owners, order = part.book.nodes.part_of(ids, kind.name), np.argsort(ids, kind="stable")
        again = np.diff(ids[order], prepend=-1) == 0
        file, what = f"hot_nids/{kind.name}", f"{kind.name}: hot row of node"
        yield from wrong_rows(CHECK, file, what, again, ids[order], "once", "again", kind.name)
        yield from wrong_rows(CHECK, file, what, owners == part.part_id, ids, "another part's", "its own", kind.name)
        for name in (spec.name for spec in kind.data if is_fetched(spec.name)):
            for first, stop in pieces(0, ids.size, run.piece_rows):
                for owner, places in places_by_part(owners[first:stop]):
                    region = open_part(owner, run).node_rows.features[kind.name][name]
                    nodes = ids[first:stop][places]
                    own = region.take(part.book.nodes.local(nodes, owner, kind.name))
                    spec = DataSpec(name, region.dtype, region.shape[1:])
                    hot = read(kind.name, spec, first, stop)[places]
                    wrong = (words_of(hot) != words_of(own)).any(axis=1)
                    where, whose = f"hot_data/{kind.name}/{name}", f"the row of part {owner}"
                    yield from wrong_rows(CHECK, where, what, wrong, nodes, whose, "another", kind.name)
