"""`Assignment`, the public class: owners as lazy collections, with their quality."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.resources import ON_THIS_MACHINE, detect_resources
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.errors import AssignmentError
from daskgraphpart.graph.scan import check_read
from daskgraphpart.jobs.job_inputs import open_chunked, read_owners
from daskgraphpart.keywords import check_keywords
from daskgraphpart.lazy_mapping import LazyMapping
from daskgraphpart.partitioner.assignment import Owners
from daskgraphpart.partitioner.owner_collections import owned_edges, owner_array, owner_frame
from daskgraphpart.partitioner.write_files import keep_assignment
from daskgraphpart.public import Public
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.paths import require_local
from daskgraphpart.storage.scratch import lasting_directory
from daskgraphpart.units import format_number, html_table

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from pathlib import Path

    from distributed import Client
    from distributed.deploy import Cluster

    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.partitioner.assign_report import AssignReport


class Assignment(Public, Owners):
    """The part that owns each node.

    Attributes
    ----------
    num_parts : int
        Number of parts.
    method : str
        How owners were assigned: ``"random"``, a partitioner's name, or what the files say.

    Examples
    --------
    >>> assignment = dgp.assign("shop", 4)
    >>> assignment.quality.cut_share
    0.144
    >>> assignment.to_frame("user").head(3)
       id  owner
    0   0      3
    1   1      2
    2   2      0
    >>> assignment.with_owners(graph)["user:buys:item"].owner.value_counts().compute().sort_index()
    owner
    0    1291
    1    1242
    2    1099
    3    1368
    Name: count, dtype: int64
    """

    __slots__ = ()
    __all__ = ("method", "num_parts", "owners", "quality", "to_frame", "with_owners", "write")

    @property
    def owners(self) -> Mapping[str, Any]:
        """Owners by node type: a dask array of parts, uint8 or uint16, indexed by original type-wise ID."""
        return LazyMapping("node type", tuple(self.files), lambda ntype: owner_array(self.files[ntype]))

    @property
    def quality(self) -> AssignReport:
        """Edge cut, communication volume and the balance of every constraint.

        Raises
        ------
        AssignmentError
            If the owners were read from files, which are not measured.
        """
        if self.measured is None:
            hint = "measure them by assign(graph, num_parts, method=DIRECTORY)"
            raise AssignmentError("owners read from files have no measurements", hint=hint)
        return self.measured

    def to_frame(self, ntype: str) -> Any:
        """Return the owners of one node type as a dask DataFrame.

        Parameters
        ----------
        ntype : str
            Node type.

        Returns
        -------
        dask.dataframe.DataFrame
            Columns `id` (your own IDs if they were mapped, else type-wise IDs) and `owner`.

        Examples
        --------
        >>> dgp.assign("shop", 4).to_frame("item").head(3)
           id  owner
        0   0      3
        1   1      1
        2   2      1
        """
        known = LazyMapping("node type", tuple(self.files), self.files.__getitem__)
        return owner_frame(known[ntype], self.id_maps.get(ntype))

    def with_owners(self, graph: Graph) -> Mapping[str, Any]:
        """Join each edge with the owner of its destination, lazily, as `dispatch` does.

        Parameters
        ----------
        graph : Graph
            The graph that was assigned.

        Returns
        -------
        mapping of str to dask.dataframe.DataFrame
            A frame per canonical edge type: int64 columns `src` and `dst` (type-wise IDs), `owner`, the part that owns
            the edge, and scalar features that are not called so. For features, edges in text are counted at once.

        Raises
        ------
        AssignmentError
            If a node has no owner.

        Examples
        --------
        >>> dgp.assign("shop", 4).with_owners(graph)["user:buys:item"].head(3)
           src  dst  owner  price
        0  850  154      1   0.25
        1  636   44      3   0.03
        2  511  193      1   0.84
        """
        check_read(graph)
        self.check_fits(graph.schema)

        def of_type(etype: str) -> Any:
            return owned_edges(graph, self.files, self.num_parts, etype)

        return LazyMapping("edge type", graph.schema.etypes, of_type)

    @check_keywords
    def write(
        self,
        out: str | os.PathLike[str],
        *,
        form: str = "npy",
        overwrite: bool = False,
        memory: str | int | None = None,
        cluster: str | Client | Cluster | None = None,
        workers: int | None = None,
        workspace: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Path:
        """Write the owners as DGL's step 1 does (`<ntype>.txt`, `partition_meta.json`), with a binary form beside them.

        Parameters
        ----------
        out : path
            Output directory, created if missing; pass it to `dispatch` or `read_assignment`.
        form : str
            ``"npy"``, ``"parquet"`` or ``"zarr"``.
        overwrite : bool
            Replace an existing assignment.
        memory, cluster, workers, workspace, progress : optional
            As in `partition`.

        Returns
        -------
        Path
            The directory.

        Raises
        ------
        OutputExistsError
            If `out` already holds an assignment.

        Examples
        --------
        >>> dgp.assign("shop", 4).write("owners")
        PosixPath('owners')
        >>> dgp.read_assignment("owners", "shop")
        <Assignment by kaminpar: 4 parts>
        """
        directory = require_local(out, "an assignment")
        resources = detect_resources(memory, cluster, workers, workspace=workspace)
        return keep_assignment(self, directory, resources, form=form, overwrite=overwrite, progress=progress)

    def __repr__(self) -> str:
        cut = "" if self.measured is None else f", {self.measured.cut_share:.1%} of edges cut"
        return f"<Assignment by {self.method}: {format_number(self.num_parts, 'part')}{cut}>"

    def _repr_html_(self) -> str:
        heads, rows = ["", ""], [["method", self.method], ["parts", str(self.num_parts)]]
        if self.measured is not None:
            rows.append(["edges cut", f"{self.measured.cut_share:.2%}"])
            rows += [[f"largest part of {b.name}", f"{b.ratio:.3f} of the average"] for b in self.measured.balances]
        return html_table(heads, rows, caption="Assignment")


def public(of: Owners) -> Assignment:
    """Return an assignment with all its methods."""
    return Assignment(of.num_parts, of.method, of.files, of.measured, of.trainers, of.id_maps, of.seed, of.training)


@check_keywords
def read_assignment(
    path: str | os.PathLike[str],
    graph: Graph | str | os.PathLike[str],
    *,
    num_parts: int | None = None,
    memory: str | int | None = None,
    cluster: str | Client | Cluster | None = None,
    workers: int | None = None,
    workspace: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Assignment:
    """Read owners from a directory and check that every node has one.

    Parameters
    ----------
    path : path
        Directory written by `assign`, `Assignment.write`, DGL's step 1 or ParMETIS.
    graph : Graph or path
        The graph that was assigned.
    num_parts : int, optional
        Needed only for a directory without `partition_meta.json`.
    memory, cluster, workers, workspace, progress : optional
        As in `partition`.

    Returns
    -------
    Assignment

    Raises
    ------
    InputFileNotFoundError
        If the directory does not exist.
    AssignmentError
        If the owners do not fit the graph.

    Examples
    --------
    >>> assignment = dgp.assign("shop", 4, out="owners")
    >>> dgp.read_assignment("owners", "shop").owners["user"][:10].compute()
    array([3, 2, 0, 1, 3, 2, 0, 1, 3, 2], dtype=uint8)
    """
    opened_graph, directory = open_chunked(graph), require_local(path, "an assignment")
    resources = detect_resources(memory, cluster, workers, workspace=workspace)
    is_here = resources.cluster in ON_THIS_MACHINE
    with environment_faults(), open_runner(resources, progress) as runner:
        kept = lasting_directory(resources.workspace or (None if is_here else directory))
        runner.check_shared([("directory of owners", directory, ""), ("workspace", kept, "")])
        owners = read_owners(directory, opened_graph, kept, runner, num_parts)
    owners.check_fits(opened_graph.schema)
    return public(replace(owners, id_maps=opened_graph.id_maps))
