"""The method `verify` of open partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.progress import PROGRESS
from daskgraphpart.engine.resources import WHERE
from daskgraphpart.keywords import with_keywords
from daskgraphpart.plugins.verification import pipeline

if TYPE_CHECKING:
    from daskgraphpart.partitioned.graph import PartitionedGraph
    from daskgraphpart.plugins.verification.findings import VerifyReport


@with_keywords(WHERE, PROGRESS)
def verify(
    partitions: PartitionedGraph, graph: Any = None, *, sample: float = 1.0, quick: bool = False, **keywords: Any
) -> VerifyReport:
    """Compare the partitions with their input graph, as `daskgraphpart.verify` does.

    Parameters
    ----------
    graph : Graph, path or URL, optional
        The input, as for `partition`. Without it, compare files with the checksums in their manifest.
    sample : float
        Share of feature rows to compare with the graph.
    quick : bool
        Read only headers and small files.

    Returns
    -------
    VerifyReport
        All faults found (`findings`, `ok`); `print` shows them.

    Examples
    --------
    >>> parts.verify(graph).ok
    True
    """
    config = str(partitions.config)
    if graph is None:
        return pipeline.verify_checksums(config, sample=sample, quick=quick, **keywords)
    return pipeline.verify(graph, config, sample=sample, quick=quick, **keywords)
