"""A model is trained on features of four times the memory that its process may have."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

import daskgraphpart as dgp

if TYPE_CHECKING:
    from pathlib import Path

NUM_NODES, WIDTH, LIMIT = 524_288, 1024, 512 << 20  # torch and PyG set up 350 MB of it

TRAIN = """
import sys, warnings
warnings.simplefilter("ignore")
import torch
from torch_geometric.nn import SAGEConv
import daskgraphpart as dgp

parts, limit = dgp.open_partitions(sys.argv[1]), int(sys.argv[2])
width = parts.nodes["_N"].data["feat"].shape[1]
assert parts.nodes["_N"].data["feat"].nbytes >= 4 * limit
try:
    parts.nodes["_N"].data["feat"][:]
except MemoryError:
    print("features do not fit")
torch.manual_seed(0)
model = SAGEConv(width, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
loader = parts.neighbor_loader([10], "train_mask", batch_size=64, shuffle=True, num_workers=2)
for step, batch in enumerate(loader):
    rows = slice(batch.batch_size)
    loss = torch.nn.functional.cross_entropy(model(batch.feat, batch.edge_index)[rows], batch.label[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 100:
        break
right = total = 0
for batch in parts.neighbor_loader([20], torch.arange(0, len(parts.nodes["_N"]), 250), batch_size=256, num_workers=2):
    rows = slice(batch.batch_size)
    right += int((model(batch.feat, batch.edge_index)[rows].argmax(1) == batch.label[rows]).sum())
    total += batch.batch_size
print(right / total)
"""


@pytest.mark.long
@pytest.mark.memory
def test_a_model_is_trained_on_features_of_four_times_the_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    label, (src, dst) = rng.integers(0, 4, NUM_NODES), rng.integers(0, NUM_NODES, (2, 6_000_000))
    within = label[src] == label[dst]
    feat = np.lib.format.open_memmap(tmp_path / "feat.npy", "w+", np.float32, (NUM_NODES, WIDTH))
    feat[:, :8] = np.eye(4)[label].repeat(2, axis=1) + rng.normal(0, 1, (NUM_NODES, 8))
    data = {"feat": feat, "label": label, "train_mask": rng.random(NUM_NODES) < 0.5}
    how = {"part_method": "random", "node_data": data, "graph_formats": "csc"}
    dgp.partition_graph((src[within], dst[within]), "g", 3, tmp_path / "out", **how)  # type: ignore[arg-type]

    def set_limit() -> None:
        # all that is private and writable; pages of mapped files, which the system takes back, are not of it
        resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))

    command = [sys.executable, "-c", TRAIN, str(tmp_path / "out"), str(LIMIT)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=set_limit, env=environment)
    assert done.returncode == 0, done.stderr
    said, accuracy = done.stdout.splitlines()
    assert said == "features do not fit"
    assert float(accuracy) > 0.85
