"""`describe_dataset`: a public data set, as downloaded, as tables."""

from __future__ import annotations

import pkgutil
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import InputFileNotFoundError, check_choice
from daskgraphpart.storage.paths import require_local

if TYPE_CHECKING:
    import os

DATASETS = {
    "igb": "daskgraphpart.readers.datasets.igb:read_igb",
    "mag240m": "daskgraphpart.readers.datasets.ogb_lsc:read_mag240m",
    "ogb": "daskgraphpart.readers.datasets.ogb:read_ogb",
    "wikikg": "daskgraphpart.readers.datasets.ogb_lsc:read_wikikg",
}
"""Functions that name the tables of a public data set; imported when used, for there are several, and big."""


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
        Keywords: `edges`, `num_nodes`, `num_edges`, `node_data`, `edge_data`, `masks`, `edge_types_from`, `cast`.
        Features are named ``feat``, ``label``, ``year`` and so on, splits ``train_mask``, ``val_mask`` and
        ``test_mask``.

    Raises
    ------
    InputFileNotFoundError
        If files are missing; the message names them all.
    InputFileError
        If counts or splits are wrong.
    """
    check_choice("kind of data set", "--from", kind, DATASETS)
    path = require_local(directory, "a data set", "copy it to a directory").absolute()
    if not path.is_dir():
        raise InputFileNotFoundError("no such directory", file=path, option="from")
    tables: dict[str, Any] = pkgutil.resolve_name(DATASETS[kind])(path)
    return tables
