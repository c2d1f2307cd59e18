"""A wheel with compiled kernels: CPU time of the first `partition` with it and without. Fails if any is compiled anew.

numba keeps what it compiles in ``__pycache__``, and loads it for the same source, by its hash, the same version of
Python and numba, and the same processor. So a package that has run holds its kernels, and a line of ``MANIFEST.in``
takes them into its wheel. Those for ``--cpu`` are for newer processors, too, where the environment names the same.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from harness import cpu_seconds, generate_once, keep_lines, measure, show

import daskgraphpart

PACKAGE = Path(daskgraphpart.__file__).parent
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
OFFLINE = ("--no-deps", "--no-index")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu", default="x86-64-v2", help="the oldest processor, by its name in LLVM")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--output", type=Path, help="keep the wheel in this directory")
    parser.add_argument("--directory", type=Path, help="where files go; default a temporary directory")
    options = parser.parse_args()
    results: dict[str, list[float]] = {}
    for _ in range(options.runs):
        with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
            for what, number in compare(Path(scratch), options.cpu, options.output).items():
                results.setdefault(what, []).append(round(number, 2))
    keep_lines("compiled_wheel", {"cpu": options.cpu}, results)
    show(["CPU s; kernels", "runs"], [[what, ", ".join(map(str, numbers))] for what, numbers in results.items()])


def compare(root: Path, cpu: str, output: Path | None) -> dict[str, float]:
    """Partition with a package that has no kernels, put those of that run into its wheel, and install it elsewhere."""
    graph = generate_once(root / "graph", "--nodes", "3e4", "--edges", "3e5", "--kind", "communities")
    source, installed, wheels = root / "source", root / "installed", output or root / "wheels"
    shutil.copytree(PACKAGE, source / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(PACKAGE.parent / name, source)
    measure([sys.executable, "-m", "compileall", "-q", str(source)])  # as pip does

    def partition(package: Path) -> float:
        options = (str(graph), str(root / "partitions"), "--num-parts", "4", "--overwrite", "--quiet")
        names = ("NUMBA_CPU_FEATURES=", f"NUMBA_CPU_NAME={cpu}", f"PYTHONPATH={package}", "PYTHONSAFEPATH=1")
        before = cpu_seconds()
        measure(["env", "-u", "NUMBA_CACHE_DIR", *names, sys.executable, "-m", PACKAGE.name, "partition", *options])
        return cpu_seconds() - before

    plain = partition(source)
    compiled = kernels(source)
    (source / "MANIFEST.in").write_text("recursive-include daskgraphpart *.nbi *.nbc\n")
    measure([*PIP, "wheel", *OFFLINE, "--no-build-isolation", "--wheel-dir", str(wheels), str(source)])
    measure([*PIP, "install", *OFFLINE, "--target", str(installed), *map(str, wheels.glob("daskgraphpart-*.whl"))])
    with_kernels = partition(installed)
    if not compiled or kernels(installed) != compiled:
        raise SystemExit("kernels of the wheel were compiled anew")
    return {
        "first run": plain,
        "first run with kernels": with_kernels,
        "second run with kernels": partition(installed),
        "kernels": sum(name.endswith(".nbc") for name in compiled),
        "MB": sum(map(len, compiled.values())) / 1e6,
    }


def kernels(package: Path) -> dict[str, bytes]:
    """What numba keeps of a package."""
    return {path.name: path.read_bytes() for path in package.rglob("*.nb[ci]")}


if __name__ == "__main__":
    main()
