"""Name the temporary files of a job."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from daskgraphpart.storage.files import delete_file, delete_tree, workspace_store
from daskgraphpart.storage.local_store import TEMPORARY_SUFFIX

WORKSPACE_NAME = ".daskgraphpart-work"
EDGE_DIRECTORIES = {
    "runs": "edges of a block, grouped by owner",
    "extra": "edges of a run that parts hold without owning them, grouped by part",
    "halo": "bitmaps: halo nodes of all parts (words), foreign nodes of a part up to so many hops away (members)",
    "ends": "one end of a block's edges grouped by ID range: ids, rows, new IDs",
    "local": "edges of one segment of a part by local ID, grouped for CSR or CSC; places in CSC of a range of rows",
}
"""What leads from edges to graphs."""
DIRECTORIES = {
    "owners": "owner of every node of a type",
    "node-maps": "new ID of every node of a type",
    "edge-owners": "owner of every edge of a type",
    "staged": "rows of one feature in owner order; see `open_staged`",
    "encoded": "arrays of files in which values have no fixed place, each under the path of its file",
    "in-edges": "in-edges of the whole graph, seeds of training and the part of every node; see `keep_hot_rows`",
    "hot": "hot nodes of a part and type: original IDs, fetches",
    **EDGE_DIRECTORIES,
}
_TORN = re.compile(rf"\.[0-9a-f]{{12}}{re.escape(TEMPORARY_SUFFIX)}$")  # of `storage.atomic.whole_file`


@dataclass(frozen=True, slots=True)
class Workspace:
    """Temporary files of one job, below one directory."""

    root: str  # the directory
    is_kept: bool = False  # keep files that are no longer needed

    @classmethod
    def of(cls, out: Path, elsewhere: str | None, is_kept: bool = False) -> Workspace:
        """Name an output's workspace: inside it, or its own directory elsewhere."""
        if elsewhere is None:
            return cls(str(out / WORKSPACE_NAME), is_kept)
        of_output = hashlib.sha256(os.fsencode(out.resolve())).hexdigest()[:12]
        return cls(str(Path(elsewhere).absolute() / f"{WORKSPACE_NAME}-{of_output}"), is_kept)

    @classmethod
    def create(cls, out: Path, elsewhere: str | None, is_kept: bool = False) -> Workspace:
        """Make an empty workspace, beside the output unless given elsewhere."""
        work = cls.of(out, elsewhere, is_kept)
        workspace_store(work.root).renew(work.root, [*DIRECTORIES])
        return work

    def remove(self, kept: str = "") -> None:
        """Delete everything, or all but one file."""
        workspace_store(self.root).remove(self.root, kept)

    def remove_torn_files(self, out: Path) -> None:
        """Delete what killed runs and lost workers left half written, here and in the output."""
        for root in (self.root, out):
            for directory, _, names in os.walk(root):
                for name in filter(_TORN.search, names):
                    Path(directory, name).unlink(missing_ok=True)

    def remove_edges(self) -> None:
        """Delete edge files once the graphs are written."""
        if not self.is_kept:
            for name in EDGE_DIRECTORIES:
                delete_tree(f"{self.root}/{name}")

    def remove_members(self, num_parts: int, hop: int) -> None:
        """Delete one hop's bitmaps once the next hop's are written."""
        for part in range(0 if self.is_kept else num_parts):
            delete_file(self.file("halo", part, "members", hop))

    @property
    def encoded(self) -> str:
        """Directory of arrays to encode into files."""
        return f"{self.root}/encoded"

    @property
    def owners(self) -> Path:
        """Directory of owner files."""
        return Path(self.root) / "owners"

    def file(self, directory: str, *names: object) -> str:
        """Name a file in one of `DIRECTORIES`."""
        return f"{self.root}/{directory}/{'-'.join(map(str, names))}.npy"
