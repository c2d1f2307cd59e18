"""`PartitionedGraph`, the public class, and `open_partitions`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.progress import PROGRESS
from daskgraphpart.engine.resources import WHERE
from daskgraphpart.keywords import with_keywords
from daskgraphpart.layouts.dgl_config import PartitionConfig
from daskgraphpart.partitioned import graph as partitioned
from daskgraphpart.verification.pipeline import verify, verify_checksums

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.dispatching.finish import Outcome
    from daskgraphpart.storage.paths import AnyPath
    from daskgraphpart.verification.findings import VerifyReport


@dataclass(frozen=True, eq=False, repr=False)
class PartitionedGraph(partitioned.PartitionedGraph):  # noqa: D101
    __doc__ = partitioned.PartitionedGraph.__doc__

    @with_keywords(WHERE, PROGRESS)
    def verify(self, graph: Any = None, *, sample: float = 1.0, quick: bool = False, **keywords: Any) -> VerifyReport:
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
        """
        if graph is None:
            return verify_checksums(str(self.config), sample=sample, quick=quick, **keywords)
        return verify(graph, str(self.config), sample=sample, quick=quick, **keywords)


@with_keywords()
def open_partitions(
    path: AnyPath, *, confined: bool = False, storage_options: Mapping[str, Any] | None = None
) -> PartitionedGraph:
    """Open partitions written by daskgraphpart or DGL: read the config, and file headers when needed.

    Parameters
    ----------
    path : path or URL
        Output directory, or its partition config; local, or in any store fsspec supports (``s3://bucket/partitions``).
        From a store, only the byte ranges of the rows you ask for are read.
    confined : bool
        Refuse files outside that directory, whether by absolute path, ``..`` or symbolic link. Use it for partitions
        you do not trust; by default, such paths are followed.
    storage_options : mapping of str to object, optional
        Credentials and options of the store, as for `fsspec.filesystem`; default: its configuration and the
        environment.

    Returns
    -------
    PartitionedGraph

    Raises
    ------
    LayoutError
        If the config is missing or inconsistent, or a file is missing.
    EnvironmentFaultError
        If a store fails or denies access.
    """
    return PartitionedGraph(*partitioned.read_partitions(path, confined, storage_options))


def parts_of(outcome: Outcome, storage_options: Mapping[str, Any] | None = None) -> PartitionedGraph:
    """Open what a job has written, if it is reachable from here."""
    if not outcome.unreadable:
        return open_partitions(outcome.config_path, storage_options=storage_options)
    content = PartitionConfig(outcome.graph_name, "metis", 1, outcome.book, ())
    return PartitionedGraph(outcome.config_path, content, False, None, outcome.quality, outcome.unreadable)
