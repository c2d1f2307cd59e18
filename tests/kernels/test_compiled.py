"""Kernels where numba's cache cannot be written, or was left empty by a full disk, and where numba does not compile."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from numba.core import config
from numba.core.caching import CacheImpl

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """
from daskgraphpart.kernels.compiled import kernel

@kernel
def twice(x):
    return 2 * x
"""


@pytest.fixture(autouse=True)
def cache_beside_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let numba keep its cache where it does by default, whatever the environment says."""
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)


def load(directory: Path) -> Any:
    """Import a module with a kernel, anew."""
    path = directory / "kernel_of_a_test.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_empty_files_in_the_cache_are_removed(tmp_path: Path) -> None:
    from daskgraphpart.kernels import compiled

    assert load(tmp_path).twice(3) == 6
    cached = list((tmp_path / "__pycache__").glob("*.nb[ci]"))
    assert len(cached) == 2
    for path in cached:
        os.truncate(path, 0)
    compiled._caches.clear()
    assert load(tmp_path).twice(4) == 8
    assert all(path.stat().st_size for path in cached)


def test_without_a_directory_for_a_cache_kernels_are_compiled_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CacheImpl, "_locator_classes", [])
    assert load(tmp_path).twice(3) == 6
    assert not list((tmp_path / "__pycache__").glob("*.nb[ci]"))


def test_kernels_that_are_not_to_be_compiled_are_one_error(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "daskgraphpart", "generate", tmp_path / "graph"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "error: NUMBA_DISABLE_JIT: kernels do not run uncompiled. Unset it. [EnvironmentFaultError]\n"


def test_the_first_run_says_that_it_compiles_kernels_and_the_second_does_not(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "daskgraphpart", "partition", "--edges", "e.csv", "out", "--num-parts", "2"]
    (tmp_path / "e.csv").write_text("src,dst\n0,1\n1,2\n")
    noted = [
        "compiling kernels"
        in subprocess.run(
            [*command, "--method", "random", "--overwrite"], cwd=tmp_path, capture_output=True, text=True, check=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        ).stderr
        for _ in range(2)
    ]  # fmt: skip
    assert noted == [True, False]
