"""The method that options name, held to its contract: a fault is an error that names the package.

`CheckedMethod` stands between a job and a method, so that nothing else has to ask whose a method is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.method import Method
from daskgraphpart.registry import blaming, broken_contract, load_class

if TYPE_CHECKING:
    from daskgraphpart.method import MethodJob
    from daskgraphpart.partitioner.assign_options import AssignOptions


def find_method(options: AssignOptions) -> CheckedMethod:
    """Make the method; raise a `PluginError` if it is not there, or fails."""
    name = str(options.method)
    kind = load_class("methods", name, Method)
    with blaming("methods", name, "a method"):
        return CheckedMethod(name, kind.of(options))


@dataclass(frozen=True, slots=True)
class CheckedMethod(Method):
    """A method whose answers are checked."""

    name: str
    method: Method

    def memory(self, num_nodes: int, num_arcs: int, num_constraints: int) -> int:
        """Ask the method."""
        with blaming("methods", self.name, "memory"):
            nbytes: Any = self.method.memory(num_nodes, num_arcs, num_constraints)
        if not isinstance(nbytes, (int, np.integer)) or nbytes < 0:
            raise broken_contract("methods", self.name, "memory returns a number of bytes", repr(nbytes))
        return int(nbytes)

    def owners(self, job: MethodJob) -> np.ndarray:
        """Ask the method; return int32 (nodes,)."""
        with blaming("methods", self.name, "owners"):
            given: Any = self.method.owners(job)
            parts = np.asarray(given)
        expected = f"owners returns a whole number from 0 to {job.num_parts - 1} for each of {len(job.nodes):,} nodes"
        if parts.shape != (len(job.nodes),) or parts.dtype.kind not in "iu":
            what = f"{parts.dtype} {parts.shape}" if isinstance(given, np.ndarray) else type(given).__name__
            raise broken_contract("methods", self.name, expected, what)
        outside = np.flatnonzero((parts < 0) | (parts >= job.num_parts))
        if outside.size:
            where = f"{parts[outside[0]]} for node {job.nodes[outside[0]]:,}"
            raise broken_contract("methods", self.name, expected, where)
        return parts.astype(np.int32, copy=False)
