"""`describe_dataset`: a public data set, as downloaded, as tables."""

from __future__ import annotations

import os
import pkgutil
from typing import Any

from daskgraphpart.errors import InputFileNotFoundError, check_choice
from daskgraphpart.storage.paths import require_local

DATASETS = {
    "igb": "daskgraphpart.readers.datasets.igb:read_igb",
    "mag240m": "daskgraphpart.readers.datasets.ogb:read_mag240m",
    "ogb": "daskgraphpart.readers.datasets.ogb:read_ogb",
    "wikikg": "daskgraphpart.readers.datasets.ogb:read_wikikg",
}
"""Functions that name the tables of a public data set; imported when used, for there are several, and big."""


def describe_dataset(kind: str, directory: str | os.PathLike[str]) -> dict[str, Any]:
    """Name the tables and arrays of a public data set, as keywords; reads only counts, headers and lists of splits."""
    check_choice("kind of data set", "--from", kind, DATASETS)
    path = require_local(directory, "a data set", "copy it to a directory").absolute()
    if not path.is_dir():
        raise InputFileNotFoundError("no such directory", file=path, option="from")
    tables: dict[str, Any] = pkgutil.resolve_name(DATASETS[kind])(path)
    return tables
