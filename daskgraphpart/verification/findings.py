"""What a check has found: one line each, with an example."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Parameters
    ----------
    check : str
        Name of the check.
    file : str
        File it was found in.
    what : str
        What is wrong, with an example row, expected and found.
    """

    check: str
    file: str
    what: str

    def __str__(self) -> str:
        return f"{self.check}: {self.file}: {self.what}"


@dataclass(frozen=True, slots=True)
class Report:
    """Result of `verify`.

    Parameters
    ----------
    findings : tuple of Finding
        Everything that is wrong.
    num_nodes, num_edges, num_rows : int
        Nodes, edges and rows of features that were compared with the input.
    """

    findings: tuple[Finding, ...]
    num_nodes: int
    num_edges: int
    num_rows: int

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings
