"""Runs commands, and reads partitions, in little memory: each in a process of its own, see fork_server.py."""

from __future__ import annotations

import contextlib
import io
import resource
import tempfile
from pathlib import Path
from typing import Any

from fork_server import memory_bytes, serve


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


def run(request: dict[str, Any], _report: str) -> int:
    """Run the command, in limited memory; its exit code."""
    limit = memory_bytes("VmSize") + (request["megabytes"] << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    if "read" in request:
        import readers

        readers.read_all(request["read"])
    else:
        from daskgraphpart.cli.main import main

        main(request["arguments"])
    return 0


if __name__ == "__main__":
    warm_up()
    serve(run)
