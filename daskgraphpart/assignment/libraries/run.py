"""Program that runs METIS or KaMinPar on an exported graph, in a process of its own.

These libraries print, may crash on odd graphs, and return Python lists; here none of that reaches the job. Called as
``python -m daskgraphpart.assignment.libraries.run CALL.json``; writes the part of each node, int32, to a file, and ends
when the process that has called it does. KaMinPar is run without numpy, so that it starts in half the time.
"""

from __future__ import annotations

import fcntl
import importlib
import json
import os
import select
import sys
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ctypes

    import numpy as np

METIS_OK = 1


def main() -> None:
    """Read the call, run the library, write the parts."""
    end_with_parent()
    call = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    parts = run_metis(call) if call["library"] == "metis" else run_kaminpar(call)
    Path(call["result"]).write_bytes(parts)


def end_with_parent() -> None:
    """Have the kernel end this process (SIGIO) when the other end of its standard input closes."""
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([0], [], [], 0)[0]:  # it has closed already: nobody ever writes to it
        sys.exit("the calling process has ended")


def run_kaminpar(call: dict[str, Any]) -> memoryview:
    """Run KaMinPar: part of each node, int32."""
    kaminpar: Any = importlib.import_module("kaminpar")
    if not kaminpar.__64bit__:
        sys.exit("this build of KaMinPar has 32-bit IDs; install its wheel")
    kaminpar.reseed(call["seed"])
    graph = kaminpar.load_graph(call["graph"], kaminpar.GraphFileFormat.PARHIP, compress=call["compress"])
    solver = kaminpar.KaMinPar(call["threads"], kaminpar.context_by_name(call["context"]))
    return memoryview(array("i", solver.compute_partition(graph, [call["limit"]] * call["num_parts"])))


def run_metis(call: dict[str, Any]) -> memoryview:
    """Run METIS through the library inside pymetis, whose Python function knows one constraint only.

    METIS 5 manual, section 5.10 (METIS_PartGraphKway, METIS_PartGraphRecursive).
    """
    import ctypes

    import numpy as np

    _internal: Any = importlib.import_module("pymetis._internal")
    library = ctypes.CDLL(_internal.__file__)
    integer = np.dtype(np.int32 if _internal._idx_type_width() == 32 else np.int64)
    flags, num_nodes, num_arcs = np.fromfile(call["graph"], "<i8", 3).tolist()
    if integer.itemsize == 4 and num_arcs >= 2**31:
        sys.exit("this build of METIS has 32-bit IDs, too few for the graph")
    options = np.empty(40, integer)  # METIS_NOPTIONS
    library.METIS_SetDefaultOptions(_pointer(options))
    options[int(_internal.OptionKey.OBJTYPE)] = int(call["objtype"] == "vol")
    options[int(_internal.OptionKey.SEED)] = (call["seed"] + 1) % 2**31  # 0 and 1 are the same to it

    def column(first: int, count: int) -> np.ndarray:
        rows = np.memmap(call["graph"], np.dtype("<i8"), "r", 8 * first, (count,))
        return rows if integer.itemsize == 8 else rows.astype(integer)

    starts = column(3, num_nodes + 1)
    starts = ((starts - starts[0]) // 8).astype(integer)
    neighbors = column(num_nodes + 4, num_arcs)
    arc_weights = None if flags & 1 else column(2 * num_nodes + num_arcs + 4, num_arcs)
    node_weights = np.ascontiguousarray(np.load(call["node_weights"], allow_pickle=False), integer)
    tolerances = np.array(call["tolerances"], np.float32)
    sizes = [np.array([value], integer) for value in (num_nodes, node_weights.shape[1], call["num_parts"])]
    objective, parts = np.zeros(1, integer), np.zeros(num_nodes, integer)
    function = library.METIS_PartGraphRecursive if call["recursive"] else library.METIS_PartGraphKway
    status = function(
        _pointer(sizes[0]), _pointer(sizes[1]), _pointer(starts), _pointer(neighbors), _pointer(node_weights), None,
        _pointer(arc_weights), _pointer(sizes[2]), None, _pointer(tolerances), _pointer(options),
        _pointer(objective), _pointer(parts),
    )  # fmt: skip
    if status != METIS_OK:
        sys.exit(f"METIS gave up with status {status}")
    return parts.astype(np.int32).data


def _pointer(column: np.ndarray | None) -> ctypes.c_void_p | None:
    import ctypes

    return None if column is None else column.ctypes.data_as(ctypes.c_void_p)


if __name__ == "__main__":
    main()
