"""The package in the environments that pyproject.toml allows: oldest versions, newest, and beside DGL 2.1 (numpy 1)."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from judges import dgl_python

ROOT = Path(__file__).parent.parent.parent
pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]
DEMO = "generate graph --nodes 1e4 --edges 1e5 --kind communities --labels --quiet"
COMMANDS = (
    "partition graph partitions --num-parts 3 --quiet",
    "verify graph partitions --quiet",
    "partition graph by-multilevel --num-parts 3 --method multilevel --quiet",
    "build listed --edges edges.csv --map-ids --quiet",
    "partition listed other --num-parts 2 --cluster local --workers 2 --quiet",
    "verify listed other --quiet",
    "report partitions --output report.html",
)
ROUND_TRIP = """
import numpy as np, daskgraphpart as dgp
graph, parts = dgp.read_chunked("graph"), dgp.open_partitions("partitions")
as_given = graph.node_data["_N"]["feat"].compute()
assert np.array_equal(parts.to_original("_N", parts.node_data["_N"]["feat"]).compute(), as_given)
edges = parts.edges["_N:_E:_N"].frame(original=True).compute()[["src", "dst"]].to_numpy()
expected = graph.edges["_N:_E:_N"].compute()[["src", "dst"]].to_numpy()
assert np.array_equal(np.unique(edges, axis=0), np.unique(expected, axis=0)) and len(edges) == len(expected)
"""
IN_DGL = """
import numpy, pandas, pyarrow, dgl
assert int(numpy.__version__.split(".")[0]) == 1
graph, node_feats, *_ = dgl.distributed.load_partition("partitions/graph.json", 0)
assert graph.num_nodes() and node_feats["_N/feat"].shape[1] == 50
"""


def run(*command: object, cwd: Path) -> str:
    """Run a program; its output."""
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def install(directory: Path, *what: str, beside: Path | None = None, python: str = sys.executable) -> Path:
    """Make an environment, which sees the packages of another one; its programs."""
    run(python, "-m", "venv", directory, cwd=ROOT)
    if beside is not None:
        packages = run(beside, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=ROOT)
        inside = next(directory.glob("lib/python*/site-packages"))
        (inside / "beside.pth").write_text(packages)
    run(directory / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", *what, cwd=ROOT)
    return directory / "bin"


def use(programs: Path, directory: Path) -> None:
    """Import, the demo, and rows and edges back in the order of the input."""
    run(programs / "pip", "check", cwd=directory)
    (directory / "edges.csv").write_text("".join(f"a{i % 50},b{i % 31}\n" for i in range(500)))
    for line in (DEMO, *COMMANDS):
        run(programs / "daskgraphpart", *line.split(), cwd=directory)
    run(programs / "python", "-c", ROUND_TRIP, cwd=directory)


def test_the_oldest_versions(tmp_path: Path) -> None:
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    (tmp_path / "oldest.txt").write_text("\n".join(line.replace(">=", "==") for line in needed))
    use(install(tmp_path / "oldest", "-c", str(tmp_path / "oldest.txt"), "."), tmp_path)


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_wheel_and_the_newest_versions(version: str, tmp_path: Path) -> None:
    python = f"python{version}"
    if not shutil.which(python) or subprocess.run([python, "-c", "pass"], check=False, capture_output=True).returncode:
        pytest.skip(f"no {python} on this machine")
    run(sys.executable, "-m", "build", "--outdir", tmp_path / "dist", ROOT, cwd=tmp_path)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    use(install(tmp_path / "newest", str(wheel), python=python), tmp_path)


def test_beside_dgl(tmp_path: Path) -> None:
    lines = (ROOT / "docs" / "coming_from_dgl.md").read_text().splitlines()
    line = next(line for line in lines if line.startswith("pip install "))
    programs = install(tmp_path / "beside", *shlex.split(line)[2:], beside=Path(dgl_python("2.1.0")))
    use(programs, tmp_path)
    run(programs / "python", "-c", IN_DGL, cwd=tmp_path)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-m", "long"]))
