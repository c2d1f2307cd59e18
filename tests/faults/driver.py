"""Runs commands on a bad disk: with shim.c preloaded, each in a fork of this process, which has everything imported.

Requests and answers are lines of JSON. A request may name a pass: the disk is bad from its begin to that of the next
one, so that every pass of a job can be struck by name. What the client does before the first pass is called ``begin``.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import io
import json
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from faults.kills import TINY, make_inputs
from inside import Runner, Sizes, main

import daskgraphpart.interop.parmetis.pm_dglpart
import daskgraphpart.jobs.run_job as opening
import daskgraphpart.readers.tables.load_tables
import daskgraphpart.readers.tables.scan_tables  # noqa: F401 - so that no fork has to import DuckDB and these
from daskgraphpart.partitioner import choose, solver

PLACES = ("the-input", "the-output", "the-workspace")
KINDS = ("read", "write", "create", "allocate", "sync", "rename", "open", "remove")
HOW = ("fail", "short", "end", "kill")
SECONDS = 60

shim = ctypes.CDLL(None)
shim.fault_arm.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_long, ctypes.c_int, ctypes.c_int)
shim.clock_arm.argtypes = (ctypes.c_long, ctypes.c_long)
shim.fault_count.restype = shim.fault_hits.restype = ctypes.c_long


class Watch:
    """Knows which pass is running; makes the disk bad in one of them, and counts calls in all."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.fault: dict[str, Any] = request.get("fault") or {}
        self.calls: dict[str, dict[str, int]] = {}
        self.passes: list[str] = []
        self.ran: list[str] = []
        self._label = ""
        for place, word in enumerate(PLACES):
            shim.fault_places(place, f"/{word}".encode())
        self.enter("begin")
        run, step = Runner._run, Runner.step

        def call(runner: Runner, pass_: Any, *rest: Any) -> Any:
            self.enter(pass_.name)
            self.ran.append(pass_.name)
            return run(runner, pass_, *rest)

        def begin_step(runner: Runner, name: str, *rest: Any, **how: Any) -> Any:
            self.enter(name)
            return step(runner, name, *rest, **how)

        Runner._run, Runner.step = call, begin_step  # type: ignore[method-assign]

    def enter(self, label: str) -> None:
        """Another pass begins."""
        self.note()
        self._label = label
        self.passes.append(label)
        fault = self.fault
        if fault.get("pass", label) != label:
            shim.fault_disarm()
            return
        if "truncate" in fault:
            os.truncate(fault["truncate"], os.stat(fault["truncate"]).st_size // 2)
        if "remove" in fault:
            os.rename(fault["remove"], fault["remove"] + ".away")
        if "kinds" in fault:
            kinds = sum(1 << KINDS.index(kind) for kind in fault["kinds"])
            word, how = fault["place"].encode(), HOW.index(fault.get("how", "fail"))
            shim.fault_arm(kinds, word, fault.get("after", 0), how, fault.get("errno", 0))
        if "clock" in fault:
            shim.clock_arm(fault.get("after", 0), fault["clock"])

    def note(self) -> None:
        """Add up the calls of the pass that ends."""
        for place, word in enumerate(PLACES):
            for kind, name in enumerate(KINDS):
                count = shim.fault_count(place, kind)
                if count and self._label:
                    of_pass = self.calls.setdefault(self._label, {})
                    of_pass[f"{name} {word}"] = of_pass.get(f"{name} {word}", 0) + count


def run(request: dict[str, Any], report: str) -> int:
    """Run the command; its exit code. Writes what was called and struck."""
    os.environ.update(request.get("environment", {}))
    wanted = dict(request.get("sizes", {}))
    if "most_arcs" in wanted:
        choose.COARSE_ARCS, solver.COARSE_NODES_PER_PART = wanted.pop("most_arcs"), 0
        choose.WHOLE_ARCS = choose.UNCLUSTERED_ARCS = choose.COARSE_ARCS
    sizes = Sizes(**{**{name: getattr(TINY, name) for name in Sizes.__slots__}, **wanted})
    opening.choose_sizes = lambda _: sizes
    watch, code = Watch(request), 0
    try:
        main(request["arguments"])
    except SystemExit as ended:
        code = int(ended.code or 0)
    shim.fault_disarm()
    watch.note()
    with open(report, "w") as file:
        found = {"calls": watch.calls, "passes": watch.passes, "ran": watch.ran}
        json.dump({"hits": shim.fault_hits(), **found}, file)
    return code


def warm_up() -> None:
    """Run one of each, without threads, which a fork would lose: kernels are compiled, modules imported."""
    with tempfile.TemporaryDirectory() as directory, contextlib.redirect_stdout(io.StringIO()):
        make_inputs(Path(directory))
        how = ("--cluster", "sync", "--workers", "1", "--quiet")
        for graph, method, staging in (
            ("homogeneous", "fennel", "in-place"),
            ("heterogeneous", "multilevel", "in-place"),
            ("heterogeneous", "random", "zarr"),
        ):
            out = f"{directory}/{graph}-{method}"
            partition = ("partition", f"{directory}/{graph}", out, "--num-parts", "2", "--staging", staging)
            for words in ((*partition, "--method", method), ("verify", f"{directory}/{graph}", out)):
                with contextlib.suppress(SystemExit):
                    main([*words, *how])


def answer(request: dict[str, Any], report: str) -> dict[str, Any]:
    """Run a request in a fork: exit code, what it wrote, and what `run` reports."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            signal.alarm(SECONDS)
            atexit._clear()
            fd = os.open(f"{report}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(fd, 1)
            os.dup2(fd, 2)
            sys.stdout = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115 - to the end of the process
            sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
            code = run(request, report)
            atexit._run_exitfuncs()  # of the command alone, which removes its temporary directories
        except BaseException as fault:
            print(f"Traceback: {fault!r}", file=sys.stderr)
        finally:
            sys.stderr.flush()
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    found = {"code": code, "message": Path(f"{report}.log").read_text(errors="replace")}
    with contextlib.suppress(FileNotFoundError):
        found.update(json.loads(Path(report).read_text()))
    return found


if __name__ == "__main__":
    warm_up()
    print("ready", flush=True)
    for line in sys.stdin:
        with tempfile.TemporaryDirectory() as scratch:
            print(json.dumps(answer(json.loads(line), f"{scratch}/report")), flush=True)
