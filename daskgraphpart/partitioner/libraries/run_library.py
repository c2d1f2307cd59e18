"""Program that runs METIS or KaMinPar on an exported graph, in its own process.

The libraries print, may crash on odd graphs, and return Python lists; none of that reaches the job. Called as
``python -P run.py CALL.json``; writes the part of each node, int32, to a file, and ends with its caller. Without numpy,
it starts in a fifth of the time.
"""

from __future__ import annotations

import ctypes
import fcntl
import importlib
import json
import mmap
import os
import select
import signal
import sys
from array import array
from pathlib import Path
from typing import Any

METIS_OK = 1


def main() -> None:
    """Read the call, run the library, write the parts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # libraries do not handle Ctrl-C
    end_with_parent()
    call = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    parts = run_metis(call) if call["library"] == "metis" else run_kaminpar(call)
    Path(call["result"]).write_bytes(parts)


def end_with_parent() -> None:
    """Have the kernel end this process (SIGIO) when the caller closes our standard input."""
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([0], [], [], 0)[0]:  # already closed: the caller never writes
        sys.exit("the calling process has ended")


def run_kaminpar(call: dict[str, Any]) -> memoryview:
    """Run KaMinPar: part of each node, int32."""
    kaminpar: Any = importlib.import_module("kaminpar")
    if not kaminpar.__64bit__:
        sys.exit("this build of KaMinPar has 32-bit IDs; install its wheel")
    kaminpar.reseed(call["seed"])
    graph = kaminpar.load_graph(call["graph"], kaminpar.GraphFileFormat.PARHIP)
    solver = kaminpar.KaMinPar(call["threads"], kaminpar.default_context())
    return memoryview(array("i", solver.compute_partition(graph, [call["limit"]] * call["num_parts"])))


def run_metis(call: dict[str, Any]) -> memoryview:
    """Run METIS through the library inside pymetis, whose Python function takes only one constraint.

    METIS 5 manual, section 5.10 (METIS_PartGraphKway, METIS_PartGraphRecursive).
    """
    _internal: Any = importlib.import_module("pymetis._internal")
    library = ctypes.CDLL(_internal.__file__)
    is_wide = _internal._idx_type_width() == 64
    integer = ctypes.c_int64 if is_wide else ctypes.c_int32
    graph, own = (_map(call[name]) for name in ("graph", "for_metis"))
    flags, num_nodes, num_arcs = graph[:3]
    if not is_wide and num_arcs >= 2**31:
        sys.exit("this build of METIS has 32-bit IDs, too few for the graph")
    options = (integer * 40)()  # METIS_NOPTIONS
    library.METIS_SetDefaultOptions(options)
    options[int(_internal.OptionKey.OBJTYPE)] = int(call["objtype"] == "vol")
    options[int(_internal.OptionKey.SEED)] = (call["seed"] + 1) % 2**31  # METIS treats 0 and 1 alike

    def column(rows: memoryview) -> ctypes.Array[Any]:
        return (integer * len(rows)).from_buffer(rows if is_wide else array("i", rows))

    first_arc = num_nodes + 4
    arc_weights = None if flags & 1 else column(graph[first_arc + num_arcs + num_nodes :])
    tolerances = (ctypes.c_float * len(call["tolerances"]))(*call["tolerances"])
    sizes = [ctypes.byref(integer(value)) for value in (num_nodes, len(tolerances), call["num_parts"])]
    parts, cut = (integer * num_nodes)(), integer()
    function = library.METIS_PartGraphRecursive if call["recursive"] else library.METIS_PartGraphKway
    status = function(
        sizes[0], sizes[1], column(own[: num_nodes + 1]), column(graph[first_arc : first_arc + num_arcs]),
        column(own[num_nodes + 1 :]), None, arc_weights, sizes[2], None, tolerances, options, ctypes.byref(cut), parts,
    )  # fmt: skip
    if status != METIS_OK:
        sys.exit(f"METIS gave up with status {status}")
    return memoryview(array("i", parts))


def _map(path: str) -> memoryview:
    """Map a file of 64-bit integers, copy-on-write."""
    with open(path, "rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)).cast("q")


if __name__ == "__main__":
    main()
