"""`describe_dataset`: a public data set, as downloaded, as tables; plug-ins know which files it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import InputFileNotFoundError, check_choice
from daskgraphpart.registry import load_plugin, plugin_names
from daskgraphpart.storage.paths import require_local

if TYPE_CHECKING:
    import os


def describe_dataset(kind: str, directory: str | os.PathLike[str]) -> dict[str, Any]:
    """Tell which tables and arrays make up a public data set.

    Reads only counts, headers and lists of splits.

    Parameters
    ----------
    kind : str
        ``"ogb"`` (node and link property prediction), ``"mag240m"``, ``"wikikg"`` (WikiKG90Mv2), or ``"igb"``
        (homogeneous and heterogeneous, of any size).
    directory : path
        The unpacked directory; it holds `raw` and `split`, or `processed`.

    Returns
    -------
    dict
        Keywords: `edges`, `num_nodes`, `num_edges`, `node_data`, `edge_data`, `masks`, `split_by`, `cast`.
        Features are named ``feat``, ``label``, ``year`` and so on, splits ``train_mask``, ``val_mask`` and
        ``test_mask``.

    Raises
    ------
    InputFileNotFoundError
        If files are missing; the message names them all.
    InputFileError
        If counts or splits are wrong.
    """
    check_choice("kind of data set", "--from", kind, plugin_names("datasets"))
    path = require_local(directory, "a data set", "copy it to a directory").absolute()
    if not path.is_dir():
        raise InputFileNotFoundError("no such directory", file=path, place="--from")
    tables: dict[str, Any] = load_plugin("datasets", kind)(path)
    return tables
