"""Runs in an environment with real DGL: features of bfloat16 in every part, against what torch casts from float32.

Usage: python bfloat16.py CONFIG KEY=NPY...; NPY holds the rows of the feature KEY (ntype/name) by original ID. Prints a
line of JSON: by key the rows of each part.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from dgl.data.utils import load_tensors
from dgl.distributed import load_partition

config, counts = Path(sys.argv[1]), {}
casts = {
    key: torch.from_numpy(np.load(npy)).to(torch.bfloat16) for key, npy in (arg.split("=") for arg in sys.argv[2:])
}
for part in range(json.loads(config.read_text())["num_parts"]):
    _, feats, *_ = load_partition(str(config), part)
    ids = load_tensors(str(config.parent / f"part{part}" / "orig_nids.dgl"))
    for key, cast in casts.items():
        expected = cast[ids[key.split("/")[0]]]
        assert feats[key].shape == expected.shape and torch.equal(feats[key].to(torch.bfloat16), expected), part
        assert feats[key].dtype == torch.bfloat16 or not expected.numel()
        counts.setdefault(key, []).append(len(expected))
print(json.dumps(counts))
