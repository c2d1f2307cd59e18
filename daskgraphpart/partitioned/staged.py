"""Open features that are staged in a workspace, before they are exported, as dask arrays."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import InputFileNotFoundError
from daskgraphpart.storage.zarr_arrays import open_rows_array

if TYPE_CHECKING:
    import os


def open_staged(workspace: str | os.PathLike[str]) -> dict[str, Any]:
    """Open the staged features of a job that is under way or stopped, or has kept its workspace.

    Parameters
    ----------
    workspace : path
        Workspace of the job: ``.daskgraphpart-work`` in its output directory, or its directory in `--workspace`.

    Returns
    -------
    dict of str to dask.array.Array
        By ``node_data/<ntype>/<feature>`` or ``edge_data/<etype>/<feature>``; rows in the order of new IDs, in the
        dtype that is stored. Chunks end where parts end. Rows that are not there yet are 0.

    Raises
    ------
    InputFileNotFoundError
        If nothing is staged there.
    """
    import dask.array as da

    found = {}
    for path in sorted(Path(workspace, "staged").glob("*.zarr")):
        array = open_rows_array(path)
        rows = da.from_zarr(array)
        parts = zip(array.attrs["first_rows"], array.attrs["num_rows"], strict=True)
        found[str(array.attrs["name"])] = da.concatenate([rows[first : first + count] for first, count in parts])
    if not found:
        raise InputFileNotFoundError("nothing is staged here", file=workspace, hint="run with --staging zarr")
    return found
