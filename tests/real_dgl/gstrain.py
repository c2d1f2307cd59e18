"""Runs in an environment with GraphStorm: its training script in a trainer for each part, all on this machine.

Usage: python gstrain.py TASK. TASK is a JSON file: `config` and `work`, as serve.py has them, `script`, a module of
GraphStorm such as "gsgnn_np.gsgnn_np", and its `arguments`. GraphStorm's launcher starts the same script by SSH; here
servers and trainers are processes of serve.py. Prints one JSON line: `log`, of the trainer of part 0.
"""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent / "without_autogluon"))
import sitecustomize  # noqa: F401, I001

import dgl
from graphstorm.config import get_argument_parser
from serve import free_ports, serve

if TYPE_CHECKING:
    from dgl.distributed import DistGraph


def train(script: str, arguments: list[str], port: int, graph: DistGraph) -> dict:
    """Run the script; the client is connected already."""
    num_parts = graph.get_partition_book().num_partitions()
    where = {"RANK": graph.rank(), "WORLD_SIZE": num_parts, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in where.items()})
    dgl.distributed.initialize = lambda *_, **__: None
    import_module(f"graphstorm.run.{script}").main(get_argument_parser().parse_args(arguments))
    return {}


def main() -> None:
    task = json.loads(Path(sys.argv[1]).read_text())
    config, work = Path(task["config"]), Path(task["work"])
    machines = work / "machines.txt"  # which serve.py writes
    arguments = [*task["arguments"], "--part-config", str(config), "--ip-config", str(machines)]
    serve(config, work, partial(train, task["script"], arguments, *free_ports(1)))
    print(json.dumps({"log": (work / "client-0.log").read_text()}))


if __name__ == "__main__":
    main()
