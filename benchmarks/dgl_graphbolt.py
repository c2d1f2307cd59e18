"""Runs in an environment with DGL 2.1: have DGL itself make GraphBolt's graphs.

Usage: `dgl_graphbolt.py parts CONFIG` converts partitions that have DGL's; `dgl_graphbolt.py dataset DIRECTORY`
preprocesses a dataset of npy files.
"""

from __future__ import annotations

import os
import sys

os.environ["DGLBACKEND"] = "pytorch"

import dgl
import dgl.graphbolt


def main() -> None:
    what, path = sys.argv[1:3]
    if what == "parts":
        dgl.distributed.dgl_partition_to_graphbolt(path, store_eids=True)
    else:
        dgl.graphbolt.OnDiskDataset(path)


if __name__ == "__main__":
    main()
