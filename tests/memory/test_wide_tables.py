"""Tables with wide rows are read in the least memory that is allowed, several times smaller than they are."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import sys
import daskgraphpart as dgp
edges, feature, given, out = sys.argv[1:]
dgp.read_tables(edges, map_ids=True, node_data={"_N": {feature: given}}).write_chunked(out, memory="64MB", workers=2)
# not getrusage, whose peak is inherited from the process that started this one
print(next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
BUDGET = 64_000_000


def peak_bytes(directory: Path, form: str, num_nodes: int, width: int) -> int:
    """Peak memory of a process that joins vectors, or columns, to string IDs."""
    directory.mkdir()
    rng = np.random.default_rng(0)
    ids = pa.array([f"n{i}" for i in rng.permutation(num_nodes)])
    parquet.write_table(pa.table({"src": ids, "dst": ids}), directory / "edges.parquet")
    values = rng.random((num_nodes, width), np.float32)
    columns = {f"x{i}": values[:, i] for i in range(width)}
    if form == "vectors":
        columns = {"x": pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), width)}
    table = pa.table({"id": ids, **columns})
    if form == "text":
        csv.write_csv(table, directory / "table")
    else:
        parquet.write_table(table, directory / "table")
    feature, column = ("x", "x") if form == "vectors" else ("*", "*") if form == "columns" else ("x", "*")
    given = [str(directory / "edges.parquet"), feature, f"{directory}/table:id:{column}", str(directory / "out")]
    done = subprocess.run([sys.executable, "-c", PROGRAM, *given], check=True, capture_output=True, text=True)
    return int(done.stdout)


@pytest.mark.memory
def test_wide_rows_stay_within_the_least_budget(tmp_path: Path) -> None:
    libraries = peak_bytes(tmp_path / "tiny", "vectors", 100, 8)
    peaks = {
        "vectors": peak_bytes(tmp_path / "vectors", "vectors", 8000, 4096),  # 131 MB
        "columns": peak_bytes(tmp_path / "columns", "columns", 2000, 300),
    }
    assert max(peaks.values()) - libraries < BUDGET, (libraries, peaks)


@pytest.mark.memory
@pytest.mark.long
def test_tables_of_ten_times_the_least_budget_take_less_than_thrice_it(tmp_path: Path) -> None:
    libraries = peak_bytes(tmp_path / "tiny", "vectors", 100, 8)
    peaks = {
        "vectors": peak_bytes(tmp_path / "vectors", "vectors", 210_000, 768),  # 645 MB
        "columns": peak_bytes(tmp_path / "columns", "columns", 80_000, 2000),  # 640 MB
        "text": peak_bytes(tmp_path / "text", "text", 80_000, 768),  # 650 MB
    }
    assert max(peaks.values()) - libraries < 3 * BUDGET, (libraries, peaks)
