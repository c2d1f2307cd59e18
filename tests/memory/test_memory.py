"""Memory follows the budget, not the graph; and a budget that cannot work is refused before work starts."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from graphs import Graph
from inside import DispatchOptions, choose_sizes, detect_resources, generate, open_runner, smallest_task_memory

import daskgraphpart as dgp
from daskgraphpart import EdgeType, GraphSchema, NodeType
from daskgraphpart.schema import DataSpec

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import sys
import daskgraphpart as dgp
dgp.partition(sys.argv[1], sys.argv[2], int(sys.argv[3]), method=sys.argv[5], memory=sys.argv[4], workers=2)
# not getrusage, whose peak is inherited from the process that started this one
print(next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def peak_bytes(graph: Path, out: Path, num_parts: int, memory: str, method: str = "random") -> int:
    command = [sys.executable, "-c", PROGRAM, str(graph), str(out), str(num_parts), memory, method]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.memory
def test_peak_memory_does_not_grow_with_edges_parts_or_width(tmp_path: Path) -> None:
    peaks = {}
    for name, edges, width, parts in (
        ("small", 200_000, 8, 4),
        ("edges", 4_000_000, 8, 4),
        ("width", 200_000, 512, 4),
        ("parts", 200_000, 8, 200),
    ):
        with open_runner(detect_resources("256MB")) as runner:
            generate(tmp_path / name, num_nodes=50_000, num_edges=edges, feature_width=width, runner=runner)
        if not peaks:
            how: Any = {"method": "random", "memory": "64MB", "workers": 2}
            dgp.partition(tmp_path / name, tmp_path / "warm-up", parts, **how)  # compiles the kernels
        peaks[name] = peak_bytes(tmp_path / name, tmp_path / f"out-{name}", parts, "64MB")
    budget = 64_000_000
    assert max(peaks.values()) - peaks["small"] < budget, peaks


@pytest.mark.memory
def test_a_star_is_partitioned_in_its_budget(tmp_path: Path) -> None:
    rng, peaks = np.random.default_rng(1), {}
    for name, num_nodes, num_edges in (("small", 1000, 4000), ("large", 1_000_000, 4_300_000)):
        src, dst = rng.integers(num_nodes, size=(2, num_edges))
        dst[::2] = 0
        star = dgp.GraphSchema("star", (NodeType("n", num_nodes),), (EdgeType("n", "e", "n", num_edges),))
        graph = Graph(star, {"n:e:n": (src, dst)}).write(tmp_path / name, edge_format="numpy", num_chunks=4)
        peaks[name] = peak_bytes(graph, tmp_path / f"out-{name}", 4, "200MB", "auto")
    assert peaks["large"] - peaks["small"] < 200_000_000, peaks


def schema(num_nodes: int, width: int = 1) -> GraphSchema:
    feature = DataSpec("x", np.dtype("f4"), (width,))
    return GraphSchema("g", (NodeType("n", num_nodes, (feature,)),), (EdgeType("n", "e", "n", 10),))


def test_the_smallest_budget_grows_with_the_bitmap_of_halo_nodes_only() -> None:
    small, large = (smallest_task_memory(schema(n), DispatchOptions()) for n in (1000, 1_000_000_000))
    assert large - small == pytest.approx(2 * 1_000_000_000 / 8, rel=0.01)
    assert smallest_task_memory(schema(1_000_000_000), DispatchOptions(num_hops=2)) > large


def test_a_budget_that_cannot_work_is_refused_with_the_smallest_that_does(tmp_path: Path) -> None:
    with open_runner(detect_resources("1GB")) as runner:
        generate(tmp_path / "graph", num_nodes=100, num_edges=100, runner=runner)
    with pytest.raises(dgp.GraphPartError, match=r"is too small for this job\. Use 17MB or more") as caught:
        dgp.partition(tmp_path / "graph", tmp_path / "out", 2, method="random", memory="1MB")
    assert caught.value.exit_code == 2
    assert not (tmp_path / "out").exists()
    dgp.partition(tmp_path / "graph", tmp_path / "out", 2, method="random", memory="17MB")


def test_workers_are_fewer_where_the_memory_carries_no_more() -> None:
    assert detect_resources("40MB", workers=8).limited(16 << 20).workers == 2


def test_blocks_do_not_grow_with_a_large_budget() -> None:
    some, much = (choose_sizes(detect_resources(memory)) for memory in ("10GB", "100GB"))
    for name in ("edge_block_rows", "csv_block_bytes", "row_block_bytes", "interval_rows", "segment_edges"):
        assert getattr(some, name) == getattr(much, name)


PARMETIS_PROGRAM = """
import sys
import daskgraphpart as dgp
dgp.parmetis.write(sys.argv[1], sys.argv[2], memory="64MB", workers=2)
print(next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.memory
@pytest.mark.long
def test_peak_memory_of_text_for_parmetis_does_not_grow_with_edges(tmp_path: Path) -> None:
    peaks = []
    for name, edges in (("warm-up", 20_000), ("small", 1_000_000), ("large", 6_000_000)):
        with open_runner(detect_resources("256MB")) as runner:
            # row groups of parquet are read whole, which is not what this is about
            how = {"num_nodes": 50_000, "feature_width": 1, "edge_format": "numpy"}
            generate(tmp_path / name, num_edges=edges, runner=runner, **how)
        command = [sys.executable, "-c", PARMETIS_PROGRAM, str(tmp_path / name), str(tmp_path / f"out-{name}")]
        peaks.append(int(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    budget = 64_000_000  # source and destination of the additional edges alone take 80 MB
    assert peaks[2] - peaks[1] < budget, peaks
