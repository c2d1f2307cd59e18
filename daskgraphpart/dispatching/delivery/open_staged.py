"""`open_staged`: features of a job while they are staged, as dask arrays."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import InputFileNotFoundError
from daskgraphpart.storage.zarr_arrays import open_rows_array

if TYPE_CHECKING:
    import os


def open_staged(workspace: str | os.PathLike[str]) -> dict[str, Any]:
    """Open the staged features of a running, stopped or kept job.

    Parameters
    ----------
    workspace : path
        The job's workspace: ``.daskgraphpart-work`` in its output directory, or its directory in `workspace`.

    Returns
    -------
    dict of str to dask.array.Array
        Features as stored, by ``node_data/<ntype>/<feature>`` or ``edge_data/<etype>/<feature>``. Rows are in the order
        of new IDs; chunks end where parts end. Rows not yet staged are 0.

    Raises
    ------
    InputFileNotFoundError
        If the workspace has no staged features.

    Examples
    --------
    >>> parts = dgp.partition("shop", "parts", 4, staging="zarr", keep_workspace=True)
    >>> staged = dgp.open_staged("parts/.daskgraphpart-work")
    >>> staged["node_data/user/age"][:5].compute()
    array([48, 21, 60, 41, 78])
    """
    import dask.array as da

    by_name = {}
    for path in sorted(Path(workspace, "staged").glob("*.zarr")):
        array = open_rows_array(path)
        rows = da.from_zarr(array)
        parts = zip(array.attrs["first_rows"], array.attrs["num_rows"], strict=True)
        by_name[str(array.attrs["name"])] = da.concatenate([rows[first : first + count] for first, count in parts])
    if not by_name:
        raise InputFileNotFoundError(
            "no staged features in this workspace", file=workspace, hint="run with --staging zarr"
        )
    return by_name
