"""Runs commands in processes of their own, forked from one that has imported everything: 0.1 s for each instead of 2 s.

Reads requests as lines of JSON, answers with lines of JSON. Each command has a limit of time, and of memory beyond what
the imports take.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def warm_up() -> None:
    """Run one of each, without threads, which a fork would lose."""
    import numpy as np
    import readers

    from daskgraphpart.chunked.write import write_chunked
    from daskgraphpart.cli.main import main
    from daskgraphpart.schema import EdgeType, GraphSchema, NodeType

    schema = GraphSchema("g", (NodeType("n", 4),), (EdgeType("n", "e", "n", 4),))
    ids = np.arange(4)
    with tempfile.TemporaryDirectory() as directory:
        for form in ("csv", "numpy", "parquet"):
            graph, out = f"{directory}/{form}", f"{directory}/{form}-out"
            features = {"n": {"x": np.ones((4, 2), "f4")}}
            data_format = "numpy" if form == "csv" else form
            write_chunked(
                Path(graph), schema, {"n:e:n": (ids, ids)}, features, edge_format=form, data_format=data_format
            )
            for arguments in (("partition", graph, out, "--num-parts", "2", "--cluster", "sync"), ("info", out)):
                method = ("--method", "random", "--quiet") if arguments[0] == "partition" else ()
                with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
                    main([*arguments, *method])
            readers.read_all(out)


def memory_bytes(key: str) -> int:
    """A line of /proc/self/status, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    raise KeyError(key)


def in_child(request: dict[str, Any], stderr: str) -> int:
    """Run the command; its exit code."""
    limit = memory_bytes("VmSize") + (request["megabytes"] << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    fd = os.open(stderr, os.O_WRONLY | os.O_CREAT)
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    sys.stdout = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115 - to the end of the process
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    try:
        if "read" in request:
            import readers

            readers.read_all(request["read"])
        else:
            from daskgraphpart.cli.main import main

            main(request["arguments"])
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def answer(request: dict[str, Any], stderr: str) -> dict[str, Any]:
    """Fork, wait, kill what takes too long."""
    before = memory_bytes("VmRSS")
    child = os.fork()
    if child == 0:
        code = 99
        try:
            code = in_child(request, stderr)
        except BaseException as fault:
            print(f"Traceback: {fault!r}", file=sys.stderr)
        finally:
            sys.stderr.flush()
            os._exit(code)
    until = time.monotonic() + request["seconds"]
    while True:
        ended, status, used = os.wait4(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.wait4(child, 0)
            return {"code": -1, "message": "takes too long", "grown": 0}
        time.sleep(0.005)
    message = Path(stderr).read_text(errors="replace")
    return {"code": os.waitstatus_to_exitcode(status), "message": message, "grown": used.ru_maxrss * 1024 - before}


if __name__ == "__main__":
    warm_up()
    print("ready", flush=True)
    for line in sys.stdin:
        with tempfile.TemporaryDirectory() as scratch:
            print(json.dumps(answer(json.loads(line), f"{scratch}/stderr")), flush=True)
