"""Run one target under atheris (libFuzzer): coverage of the package's Python guides the mutations.

    python fuzz/fuzz_csv.py --seconds 600
    python fuzz/fuzz_csv.py --compiled --seconds 600

Kernels of numba are interpreted as Python, so that their branches guide the mutations too; with ``--compiled`` they are
compiled, with checks of array bounds. Inputs that fail are written to ``fuzz/findings/<name>-crash-...``; run the
script with such a file to see it again. Other arguments go to libFuzzer.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

# before numba is imported; kernels compiled with checks must not be taken for those without
COMPILED = "--compiled" in sys.argv
os.environ["NUMBA_BOUNDSCHECK" if COMPILED else "NUMBA_DISABLE_JIT"] = "1"
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / f"fuzz-kernels-{os.getuid()}"))
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import atheris  # noqa: E402 - the environment comes first

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HERE = Path(__file__).parent
SECONDS_PER_INPUT = 20
SECONDS_AT_ONCE = 300
INPUTS_AT_ONCE = 30_000
"""Atheris keeps up to 40 kB of each input; the same inputs replayed without it leave nothing."""
MEGABYTES = 2048


def run(
    name: str, check: str, seeds: str, mutate: Callable[[bytes, int, int], bytes] | None = None, longest: int = 8192
) -> None:
    """Fuzz the function `check` of targets.py, from the files of the function `seeds` of seeds.py; does not return."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--compiled", action="store_true")
    options, rest = parser.parse_known_args()
    if options.seconds > SECONDS_AT_ONCE:
        _run_in_stretches(options.seconds, [*(["--compiled"] if options.compiled else []), *rest])
    if COMPILED:  # numba cannot compile what is instrumented
        importlib.import_module("daskgraphpart.kernels.parse_ints")
    with atheris.instrument_imports(include=["daskgraphpart", "numpy.lib._format_impl"]):
        import targets
    if not COMPILED:
        targets.interpret_kernels()
    import seeds as valid

    corpus = Path(tempfile.gettempdir()) / f"fuzz-{name}"
    corpus.mkdir(exist_ok=True)
    files: Sequence[bytes] = getattr(valid, seeds)()
    for number, content in enumerate(files):
        (corpus / f"seed-{number}").write_bytes(content)
    (HERE / "findings").mkdir(exist_ok=True)
    target = getattr(targets, check)
    for content in files:
        assert target(content), "the seeds are valid"  # also compiles the kernels

    arguments = [
        sys.argv[0],
        f"-max_total_time={options.seconds}",
        f"-runs={INPUTS_AT_ONCE}",
        f"-max_len={longest}",
        f"-timeout={SECONDS_PER_INPUT}",
        f"-rss_limit_mb={MEGABYTES}",
        f"-artifact_prefix={HERE}/findings/{name}-",
        "-print_final_stats=1",
        "-len_control=0",
        *rest,
        *([] if any(not word.startswith("-") for word in rest) else [str(corpus)]),
    ]

    def one_input(content: bytes) -> None:
        target(content)

    if mutate is None:
        atheris.Setup(arguments, one_input)
    else:
        atheris.Setup(arguments, one_input, custom_mutator=mutate)
    atheris.Fuzz()


def _run_in_stretches(seconds: int, arguments: Sequence[str]) -> None:
    """Run in fresh processes, one after the other, which share a corpus; end with the first that finds a fault."""
    end, code = time.monotonic() + seconds, 0
    while code == 0 and (left := int(end - time.monotonic())) > 0:
        stretch = min(SECONDS_AT_ONCE, left)
        command = [sys.executable, sys.argv[0], f"--seconds={stretch}", *arguments]
        code = subprocess.run(command, check=False).returncode
    raise SystemExit(code)
