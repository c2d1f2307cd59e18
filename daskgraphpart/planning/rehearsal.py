"""A runner that runs nothing: it notes what each pass would do, and goes on with the results that are expected.

The steps of a job are called with it as they are with a runner, so that blocks, units and their sizes come from the
code that makes them, and not from a second opinion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskgraphpart.dispatching.workspace import Workspace
from daskgraphpart.engine.progress import SilentProgress
from daskgraphpart.engine.runner import Runner
from daskgraphpart.planning.traffic import IN_PLACE, OUTPUT, Traffic, traffic_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from daskgraphpart.chunked.blocks import InputFile
    from daskgraphpart.engine.plan import Pass
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.planning.expectations import Expectations


@dataclass(frozen=True, slots=True)
class Note:
    """One pass that was rehearsed.

    Parameters
    ----------
    name : str
        Name of the pass.
    num_units : int
        Units it has.
    moved : int
        Bytes by which its progress will be counted.
    bytes_read, bytes_written : int
        Bytes it will read and write.
    task_memory : int
        Most that one of its tasks will hold, in bytes.
    seconds : float or None
        Wall time on the machine of reference, where bytes do not tell it.
    """

    name: str
    num_units: int
    moved: int
    bytes_read: int
    bytes_written: int
    task_memory: int
    seconds: float | None = None


class Disk:
    """Bytes in the directories of a workspace, and the most there were at one time."""

    def __init__(self) -> None:
        self.peak = 0
        self._places: dict[str, int] = {}

    def write(self, written: Mapping[str, int]) -> None:
        """Add what was written, the output aside, and what takes the place of something."""
        for place, nbytes in written.items():
            if place not in (OUTPUT, IN_PLACE):
                self._places[place] = self._places.get(place, 0) + nbytes
        self.peak = max(self.peak, sum(self._places.values()))

    def remove(self, *places: str) -> None:
        """Delete directories."""
        for place in places:
            self._places.pop(place, None)


@dataclass(frozen=True, slots=True)
class RehearsedWorkspace(Workspace):
    """A workspace without files, which notes what would be deleted."""

    disk: Disk | None = None

    def remove_edges(self) -> None:
        """Note that what leads from edges to graphs is deleted."""
        if self.disk is not None and not self.is_kept:
            self.disk.remove("runs", "halo", "extra", "ends", "local")

    def remove_members(self, num_parts: int, hop: int) -> None:
        """Do nothing: the bitmaps of one hop are small beside the runs."""


class Rehearsal(Runner):
    """Stands in for a runner.

    Parameters
    ----------
    resources : Resources
        What the job may use.
    expectations : Expectations
        What tasks would return.
    files : mapping of str to InputFile
        Input files by path.
    answers : mapping of str to object
        What steps return whose work would touch files.
    """

    def __init__(
        self,
        resources: Resources,
        expectations: Expectations,
        files: Mapping[str, InputFile],
        answers: Mapping[str, Any],
    ) -> None:
        super().__init__(resources, _Nobody(), SilentProgress())
        self.notes: list[Note] = []
        self.disk = Disk()
        self.num_extra_edges = 0
        self._expectations, self._files, self._answers = expectations, files, answers

    def run(self, pass_: Pass[Any, Any, Any]) -> list[Any]:
        """Note a pass; return what its tasks would return."""
        if not pass_.units:
            return []
        results = self._expectations.results(pass_)
        traffic = traffic_of(pass_, self._files)
        if pass_.name == "collect-extra":
            total = int(sum(counts.sum() for counts in results))
            traffic.written["extra"] = 24 * total
            self.num_extra_edges = total
        elif pass_.name == "merge-arcs":
            # what is left of the arcs is known now
            places = sum(merged.block.nbytes for merged in results)
            degrees = 0 if pass_.config.in_degrees is None else pass_.config.in_degrees.nbytes
            traffic.written = {"adjacency": places + degrees}
        self.note_pass(pass_.name, (len(pass_.units), sum(pass_.unit_nbytes)), traffic)
        if pass_.name == "merge-arcs":
            self.disk.remove("arcs")
        return results

    def run_in_turn(self, name: str, passes: Sequence[Pass[Any, Any, Any]]) -> list[list[Any]]:
        """Rehearse several passes."""
        return [self.run(pass_) for pass_ in passes]

    def step(self, name: str, work: Callable[[], Any], result_types: tuple[type, ...] = ()) -> Any:
        """Leave out what touches files."""
        del work, result_types
        return self._answers.get(name)

    def note_pass(self, name: str, units: tuple[int, int], traffic: Traffic, seconds: float | None = None) -> None:
        """Note a pass with the number of its units and the bytes that they move."""
        self.disk.write(traffic.written)
        written = sum(traffic.written.values())
        self.notes.append(Note(name, *units, traffic.read, written, traffic.task_memory, seconds))


class _Nobody:
    """An executor that is never asked."""

    repeats_tasks = False
    calls_at_once = 1

    def check_shared(self, directories: Sequence[tuple[str, Path, str]]) -> None:
        """Do nothing: nothing is written."""

    def check_hosts(self, hosts: Sequence[str], file: str) -> None:
        """Do nothing: no machine is asked."""

    def map(self, name: str, calls: Sequence[Any], on_done: Callable[[int, Any], None]) -> list[Any]:
        """Fail: nothing is run in a rehearsal."""
        raise AssertionError(f"{name} was run in a rehearsal, with {len(calls)} calls for {on_done}")

    def close(self) -> None:
        """Do nothing."""
