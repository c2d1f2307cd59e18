"""GraphStorm 0.5.1 itself trains on partitions of a construction config; results have the IDs of the tables."""

from __future__ import annotations

import json
import os
import re
import subprocess
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from constructions import FIXTURE
from judges import SCRIPTS, dgl_python, run_in_dgl

from daskgraphpart import partition, scan_graphstorm_config

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.long, pytest.mark.dgl]

VERSION, EPOCHS, NUM_USERS = "graphstorm-0.5.1", 8, 120
COMMON = f"""---
version: 1.0
gsf:
  basic: {{backend: gloo}}
  gnn: {{model_encoder_type: rgcn, fanout: "4,4", num_layers: 2, hidden_size: 16, use_mini_batch_infer: true}}
  hyperparam: {{dropout: 0., lr: 0.01, num_epochs: {EPOCHS}, batch_size: 16, eval_batch_size: 32, wd_l2norm: 0}}
  rgcn: {{num_bases: -1, use_self_loop: true}}
"""
TASKS = {
    "gs_node_classification": "  node_classification: {target_ntype: user, label_field: grade, multilabel: false, "
    "num_classes: 3, eval_metric: [accuracy]}\n",
    "gs_link_prediction": """  link_prediction:
    lp_decoder_type: dot_product
    num_negative_edges: 4
    num_negative_edges_eval: 10
    train_negative_sampler: joint
    train_etype: ["user,follows,user"]
    eval_etype: ["user,follows,user"]
    exclude_training_targets: true
    reverse_edge_types_map: ["user,follows,follows-rev,user"]
""",
}
SCRIPT_OF = {"gs_node_classification": "gsgnn_np.gsgnn_np", "gs_link_prediction": "gsgnn_lp.gsgnn_lp"}
FEATURES = ("--node-feat-name", "user:age,age_mm,country,h12", "item:price,vec")


def partitioned(out: Path, num_parts: int) -> Path:
    source = scan_graphstorm_config(FIXTURE / "config.json", add_reverse="graphstorm")
    partition(source, out, num_parts, method="random", layout="graphstorm")
    return out / "dist_graph" / "metadata.json"


def settings(directory: Path, command: str) -> Path:
    path = directory / f"{command}.yaml"
    path.write_text(COMMON + TASKS[command])
    return path


def check_log(log: str) -> None:
    """All epochs were trained, and the loss fell: features are read as they are, so that it begins high."""
    losses = [float(loss) for loss in re.findall(r"Batch 000 \| (?:Train )?Loss: ([\d.]+)", log)]
    assert len(losses) == EPOCHS and min(losses[-3:]) < losses[0], log[-3000:]
    assert "best_test_score" in log


@pytest.mark.parametrize("command", TASKS)
def test_two_trainers_train_on_two_parts(command: str, tmp_path: Path) -> None:
    arguments = ["--cf", str(settings(tmp_path, command)), *FEATURES]
    task = {"config": str(partitioned(tmp_path / "out", 2)), "work": str(tmp_path / "work")}
    (tmp_path / "task.json").write_text(json.dumps({**task, "script": SCRIPT_OF[command], "arguments": arguments}))
    check_log(run_in_dgl(VERSION, "gstrain.py", tmp_path / "task.json", cwd=tmp_path)["log"])


def test_the_command_labels_embeddings_with_the_ids_of_the_tables(tmp_path: Path) -> None:
    command, config = "gs_node_classification", partitioned(tmp_path / "out", 1)
    environment = {**os.environ, "DGLBACKEND": "pytorch", "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"}
    where = ("--workspace", tmp_path, "--num-trainers", "1", "--num-servers", "1", "--part-config", config)
    what = ("--cf", settings(tmp_path, command), *FEATURES, "--save-embed-path", tmp_path / "embeddings")
    done = subprocess.run(
        [dgl_python(VERSION), "-m", f"graphstorm.run.{command}", *map(str, (*where, *what))],
        env={**environment, "PYTHONPATH": str(SCRIPTS / "without_autogluon")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    check_log(done.stdout + done.stderr)
    found = pq.read_table(tmp_path / "embeddings" / "user").to_pydict()
    assert sorted(found["nid"]) == sorted(ids_of_users()) and len(found["emb"]) == NUM_USERS


def ids_of_users() -> list[str]:
    """Column of IDs of the tables of users."""
    return [user for i in (0, 1) for user in pq.read_table(FIXTURE / f"tables/user-{i}.parquet")["uid"].to_pylist()]
