"""Names of all files of a job: the temporary ones, and those of the output."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from daskgraphpart.storage.atomic import TEMPORARY_SUFFIX

GRAPH = "graph.dgl"
NODE_FEAT = "node_feat.dgl"
EDGE_FEAT = "edge_feat.dgl"
ORIG_NIDS = "orig_nids.dgl"
ORIG_EIDS = "orig_eids.dgl"
SPLIT_NIDS = "split_nids.dgl"
NODE_MAP = "node_map.npy"
EDGE_MAP = "edge_map.npy"
PART_FILES = (GRAPH, NODE_FEAT, EDGE_FEAT, ORIG_NIDS, ORIG_EIDS, SPLIT_NIDS)

MANIFEST_FORMAT = "daskgraphpart partitions"
WORKSPACE_NAME = ".daskgraphpart-work"


def part_file(out: str, part: int, name: str) -> str:
    """Path of an output file of a part."""
    return f"{out}/part{part}/{name}"


def unfinished_part_file(out: str, part: int, name: str) -> str:
    """Path of that file until the job is done."""
    return part_file(out, part, name) + TEMPORARY_SUFFIX


@dataclass(frozen=True, slots=True)
class Workspace:
    """Temporary files of one job, below one directory."""

    root: str

    @classmethod
    def create(cls, out: Path, elsewhere: str | None) -> Workspace:
        """Make an empty workspace, beside the output unless it is wanted elsewhere."""
        base = out if elsewhere is None else Path(elsewhere)
        root = base / WORKSPACE_NAME
        shutil.rmtree(root, ignore_errors=True)
        base.mkdir(parents=True, exist_ok=True)
        root.mkdir(mode=0o700)  # the disk may be shared; a link somebody else has put there is an error
        for name in ("owners", "node-maps", "edge-owners", "runs", "halo", "extra", "ends", "local", "staged"):
            (root / name).mkdir()
        return cls(str(root))

    def remove(self) -> None:
        """Delete everything."""
        shutil.rmtree(self.root, ignore_errors=True)

    def remove_edges(self) -> None:
        """Delete all that leads from edges to graphs, once the graphs are written."""
        for name in ("runs", "halo", "extra", "ends", "local"):
            shutil.rmtree(f"{self.root}/{name}", ignore_errors=True)

    @property
    def owners(self) -> Path:
        """Directory of the owner files of node types."""
        return Path(self.root) / "owners"

    def node_map(self, ntype_id: int) -> str:
        """New ID of every node of a type."""
        return f"{self.root}/node-maps/{ntype_id}.npy"

    def edge_owners(self, etype_id: int) -> str:
        """Owner of every edge of a type."""
        return f"{self.root}/edge-owners/{etype_id}.npy"

    def run(self, index: int) -> str:
        """Edges of one block, grouped by owner."""
        return f"{self.root}/runs/{index}.npy"

    def ends(self, index: int, end: str, what: str) -> str:
        """One end ("src", "dst") of a block's edges grouped by ID range: "ids", "rows" or "new"."""
        return f"{self.root}/ends/{index}-{end}-{what}.npy"

    def members(self, part: int) -> str:
        """Bitmap of HALO nodes whose in-edges a part holds."""
        return f"{self.root}/halo/{part}-members.npy"

    def halo_words(self, part: int) -> str:
        """Bitmap of a part's HALO nodes."""
        return f"{self.root}/halo/{part}-words.npy"

    def halo_ranks(self, part: int) -> str:
        """HALO nodes before each word of the bitmap."""
        return f"{self.root}/halo/{part}-ranks.npy"

    def extra(self, index: int) -> str:
        """Edges of one run that parts hold without owning them."""
        return f"{self.root}/extra/{index}.npy"

    def local(self, part: int, segment: int, kind: str) -> str:
        """Edges of one segment by local ID, grouped for CSR or CSC."""
        return f"{self.root}/local/{part}-{segment}-{kind}.npy"

    def staged(self, kind: str, type_id: int, data_id: int, block: int) -> str:
        """Rows of one block of features, grouped by owner."""
        return f"{self.root}/staged/{kind}-{type_id}-{data_id}-{block}.zarr"
