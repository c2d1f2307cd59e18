"""The noun `PartitionedGraph` as users have it: what lies in the parts, and its comparison with the input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.progress import PROGRESS
from daskgraphpart.engine.resources import WHERE
from daskgraphpart.layouts.dgl_config import PartitionConfig
from daskgraphpart.options import with_keywords
from daskgraphpart.partitioned import graph as partitioned
from daskgraphpart.verification.pipeline import verify, verify_checksums

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.dispatching.finish import Outcome
    from daskgraphpart.storage.paths import AnyPath
    from daskgraphpart.verification.findings import VerifyReport


class PartitionedGraph(partitioned.PartitionedGraph):  # noqa: D101
    __doc__ = partitioned.PartitionedGraph.__doc__

    @with_keywords(WHERE, PROGRESS)
    def verify(self, graph: Any = None, *, sample: float = 1.0, quick: bool = False, **keywords: Any) -> VerifyReport:
        """Compare the partitions with the graph they were made from, as `daskgraphpart.verify` does.

        Parameters
        ----------
        graph : Graph, path or URL, optional
            The input, as `partition` takes it. Without it, files are compared with the checksums of their manifest.
        sample : float
            Share of the rows of features that is compared with the graph.
        quick : bool
            Whether no data are read but headers and small files.

        Returns
        -------
        VerifyReport
            Everything that is wrong (`findings`, `ok`); `print` shows it.
        """
        if graph is None:
            return verify_checksums(str(self.config), sample=sample, quick=quick, **keywords)
        return verify(graph, str(self.config), sample=sample, quick=quick, **keywords)


@with_keywords()
def open_partitions(
    path: AnyPath, *, confined: bool = False, storage_options: Mapping[str, Any] | None = None
) -> PartitionedGraph:
    """Open partitions that we or DGL wrote; reads the config and, when asked, headers of files.

    Parameters
    ----------
    path : path or URL
        Output directory, or its partition config; local, or in a store that fsspec knows (``s3://bucket/partitions``).
        Of a store ranges of bytes are read, those of the rows that are asked for.
    confined : bool
        Refuse files outside that directory: absolute paths, ``..`` and symbolic links may not lead out of it. For
        partitions from somebody else; otherwise they are honoured.
    storage_options : mapping of str to object, optional
        Of the store, as `fsspec.filesystem` takes them; default: its configuration and the environment.

    Returns
    -------
    PartitionedGraph

    Raises
    ------
    LayoutError
        If there is no config, it is inconsistent, or a file is missing.
    EnvironmentFaultError
        If a store fails, or refuses access.
    """
    return PartitionedGraph(*partitioned.read_partitions(path, confined, storage_options))


def parts_of(outcome: Outcome, storage_options: Mapping[str, Any] | None = None) -> PartitionedGraph:
    """Open what a job has written, as far as it can be opened here."""
    if not outcome.unreadable:
        return open_partitions(outcome.config_path, storage_options=storage_options)
    content = PartitionConfig(outcome.graph_name, "metis", 1, outcome.book, ())
    return PartitionedGraph(outcome.config_path, content, quality=outcome.quality, unreadable=outcome.unreadable)
