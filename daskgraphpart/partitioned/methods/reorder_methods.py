"""The methods `to_original` and `from_original` of partitions and parts; `own_ids` and `ids_of`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.resources import detect_resources
from daskgraphpart.partitioned.stored_part import StoredPart
from daskgraphpart.storage.paths import AnyPath, require_local

if TYPE_CHECKING:
    import numpy as np
    from distributed import Client
    from distributed.deploy import Cluster

    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.partitioned.stored_partitions import StoredPartitions


def to_original(
    partitions: StoredPartitions,
    kind: str | tuple[str, str, str],
    rows: Any,
    out: str | os.PathLike[str] | None = None,
    *,
    id_map: str | os.PathLike[str] | None = None,
    largest: bool = False,
    decode: str | None = None,
    overwrite: bool = False,
    memory: str | int | None = None,
    cluster: str | Client | Cluster | None = None,
    workers: int | None = None,
    workspace: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Any:
    """Bring rows, such as embeddings, from the order of new IDs back into input order.

    Parameters
    ----------
    kind : str or tuple of str
        Node type or edge type.
    rows : array, tensor, frame, dask array, dask frame or path
        One row per node or edge, by new type-wise ID. A path names an npy file, a zarr array, a tensor (``*.pt``),
        or a parquet file with one column of numbers or lists.
    out : path, optional
        Output ``*.npy``, ``*.pt``, ``*.parquet`` or ``*.zarr``, written in bounded memory. Parquet gets columns
        `id` and `value`.
    id_map : path, optional
        Your own IDs, for the column `id` of parquet: the graph with the ID map, its directory
        ``id_map``, or one file of it. Default: where it was when the graph was partitioned. Without a map, `id` is
        the row number.
    largest : bool
        Give the number of each row's largest column, such as the class of the highest score.
    decode : str, optional
        Give the text of this feature, or of a parquet file of categories: of codes, or of the largest columns of
        scores. Missing values are null. Written to parquet only.
    overwrite : bool
        Replace `out`.
    memory, cluster, workers, workspace, progress : optional
        As in `partition`.

    Returns
    -------
    dask.array.Array or Path
        Rows by original type-wise ID, lazy; or `out`.

    Raises
    ------
    LayoutError
        If original IDs were not saved.
    IdOutOfRangeError
        If the type does not exist.
    OptionError
        If the number of rows is not that of the type.
    InputFileNotFoundError
        If the file of rows, or the ID map, does not exist.

    Examples
    --------
    >>> scores = parts.node_data["user"]["age"] * 2
    >>> parts.to_original("user", scores)[:5].compute()
    array([120, 144,  96, 120, 126])
    >>> parts.to_original("user", scores, "scores.parquet")
    PosixPath('scores.parquet')
    """
    how: Any = {"resources": detect_resources(memory, cluster, workers, workspace=workspace), "progress": progress}
    how |= {"overwrite": overwrite, "id_map": id_map, "largest": largest, "decode": decode}
    return _reorder(partitions, kind, rows, out, to_original=True, **how)


def from_original(
    partitions: StoredPartitions,
    kind: str | tuple[str, str, str],
    rows: Any,
    out: str | os.PathLike[str] | None = None,
    *,
    overwrite: bool = False,
    memory: str | int | None = None,
    cluster: str | Client | Cluster | None = None,
    workers: int | None = None,
    workspace: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Any:
    """Bring rows from input order into the order of new IDs.

    Parameters
    ----------
    rows : array, tensor, frame, dask array, dask frame or path
        One row per node or edge, by original type-wise ID.
    kind, out, overwrite : optional
        As in `to_original`.
    memory, cluster, workers, workspace, progress : optional
        As in `partition`.

    Returns
    -------
    dask.array.Array or Path
        Rows by new type-wise ID, lazy; or `out`.

    Examples
    --------
    >>> ages = graph.node_data["user"]["age"].compute()
    >>> parts.from_original("user", ages)[:5].compute()
    array([48, 21, 60, 41, 78])
    >>> parts.nodes["user"].data["age"][:5]
    array([48, 21, 60, 41, 78])
    """
    how: Any = {"resources": detect_resources(memory, cluster, workers, workspace=workspace), "progress": progress}
    return _reorder(partitions, kind, rows, out, to_original=False, overwrite=overwrite, **how)


def _reorder(
    partitions: StoredPartitions,
    kind: str | tuple[str, str, str],
    rows: Any,
    out: AnyPath | None,
    **how: Any,
) -> Any:
    from daskgraphpart.tools.reorder.reorder_type import reorder_type  # imports dask

    return reorder_type(partitions, kind, rows, None if out is None else require_local(out, "the output"), **how)


def own_ids(
    partitions: StoredPartitions | StoredPart, ntype: str, new_ids: Any, *, id_map: str | os.PathLike[str] | None = None
) -> Any:
    """Return your own IDs of nodes, such as those of a batch: the IDs in the tables that were partitioned.

    Parameters
    ----------
    ntype : str
        Node type.
    new_ids : int, array, tensor or series of int, or dask array or series
        New type-wise IDs, such as `n_id` of a batch or of `to_pyg`.
    id_map : path, optional
        As in `to_original`.

    Returns
    -------
    numpy.ndarray, dask.array.Array or dask.dataframe.Series
        Strings (dtype object) or int64, of the shape of `new_ids`; lazy if that is. Without ``map_ids``, IDs are row
        numbers of the input.

    Raises
    ------
    IdOutOfRangeError
        If the type does not exist, or an ID is out of range.
    InputFileNotFoundError
        If the ID map of the graph is gone.

    Examples
    --------
    >>> parts.own_ids("user", [0, 1, 2])
    array([ 2,  6, 10])
    """
    from daskgraphpart.tools.reorder.own_ids import own_ids_of  # imports pyarrow

    return own_ids_of(_whole(partitions), ntype, new_ids, id_map)


def ids_of(
    partitions: StoredPartitions | StoredPart, ntype: str, own_ids: Any, *, id_map: str | os.PathLike[str] | None = None
) -> Any:
    """Return the new IDs of nodes by your own ones, such as seeds for a loader. Reads the ID map once.

    Parameters
    ----------
    ntype : str
        Node type.
    own_ids : str, int, list, array or series, or dask array or series
        IDs as in the tables that were partitioned.
    id_map : path, optional
        As in `to_original`.

    Returns
    -------
    numpy.ndarray, dask.array.Array or dask.dataframe.Series
        New type-wise IDs, int64, of the shape of `own_ids`; lazy if that is.

    Raises
    ------
    IdOutOfRangeError
        If the type does not exist, or no node has an ID.
    InputFileNotFoundError
        If the ID map of the graph is gone.

    Examples
    --------
    >>> parts.ids_of("user", [2, 6, 10])
    array([0, 1, 2])
    """
    from daskgraphpart.tools.reorder.own_ids import new_ids_of  # imports pyarrow

    return new_ids_of(_whole(partitions), ntype, own_ids, id_map)


def _whole(partitions: StoredPartitions | StoredPart) -> StoredPartitions:
    if isinstance(partitions, StoredPart):
        whole: StoredPartitions = partitions.whole
        return whole
    return partitions


def owned_to_original(
    part: StoredPart, kind: str | tuple[str, str, str], rows: Any, *, id_map: str | os.PathLike[str] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Sort results for own nodes or edges of a type into input order.

    Parameters
    ----------
    kind : str or tuple of str
        Node type or edge type.
    rows : array, tensor, frame or path
        One row per own node or edge, in the order of the part's features.
    id_map : path, optional
        As in `to_original` of partitions.

    Returns
    -------
    ids : numpy.ndarray (rows,)
        Your own IDs of nodes, in the order of the input: strings or int64 if they were mapped, else row numbers, as
        for edges. `original_ids` has the row numbers of all.
    rows : numpy.ndarray
        Their rows.

    Raises
    ------
    OptionError
        If the part does not own as many nodes or edges of the type.
    InputFileNotFoundError
        If the ID map is gone: give it, or use `original_ids`.

    Examples
    --------
    >>> users = parts.part(0).to_pyg()["user"]
    >>> ids, ages = parts.part(0).to_original("user", users.age[users.inner_mask])
    >>> ids[:3], ages[:3]
    (array([ 2,  6, 10]), array([48, 21, 60]))
    """
    from daskgraphpart.tools.reorder.reorder_type import reorder_part  # imports pyarrow

    return reorder_part(part, kind, rows, id_map)
