"""The output directory on the disks of several machines: looked at before work starts, claimed before files come.

Tasks of this file run on the machine that they are about, each by a worker there. While a delivery is under way, a
mark in the directory tells whose it is and of which partitions; files that are there beside the mark are of these.
"""

from __future__ import annotations

import errno
import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskgraphpart.delivery.output import PART_DIRECTORY, check_empty, discard_output, is_config, is_in_the_way
from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import EnvironmentFaultError, GraphPartError, OutputExistsError
from daskgraphpart.storage.atomic import TEMPORARY_SUFFIX, whole_file
from daskgraphpart.storage.checksums import hash_file
from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from daskgraphpart.delivery.machines import MachineDirectory
    from daskgraphpart.engine.runner import Runner

MARK = ".daskgraphpart-delivery"


@dataclass(frozen=True, slots=True)
class MachineOutput:
    """An output directory on machines.

    Parameters
    ----------
    directory : MachineDirectory
        The directory, and the machines.
    staging : str
        Directory that all machines share, in which the partitions are made.
    config_name, manifest_name : str
        Files that will be written beside the parts.
    overwrite : bool
        Whether partitions that are there are deleted.
    digest : str
        Checksum of the manifest of what is delivered; empty until there is one.
    """

    directory: MachineDirectory
    staging: str
    config_name: str
    manifest_name: str
    overwrite: bool
    digest: str = ""

    @property
    def path(self) -> Path:
        """The directory on the machine where this is asked."""
        return self.directory.path


def check_machines(output: MachineOutput, runner: Runner) -> None:
    """Check before work starts that all machines have a worker, and that the directory on each can be the output.

    Raises
    ------
    EnvironmentFaultError
        If a machine has no worker, or a directory may not be written to.
    OutputExistsError
        If a directory is not empty and may not be overwritten.
    """
    machines = output.directory.machines
    runner.check_hosts(machines, output.directory.file)
    runner.run(Pass("check-machines", check_machine, machines, output, [0] * len(machines), unit_hosts=machines))


def check_machine(host: str, output: MachineOutput) -> int:
    """Task of the pass `check-machines`: look at the output directory, and touch nothing."""
    out = output.path
    with on_machine(host):
        there = next(path for path in (out, *out.parents) if path.exists())
        if there == out and not out.is_dir():
            raise OutputExistsError("the output is a file", file=str(out), hint="give a directory")
        if not there.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(there))
        if not os.access(there, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(there))
        if there == out:
            _check_replaceable(output)
    return 0


def claim_machine(host: str, output: MachineOutput) -> int:
    """Task of the pass `claim-machines`: delete what may be replaced, and leave the mark.

    What an earlier run has delivered of the same partitions stays: it has the mark, or the manifest where the mark has
    gone already because that machine was ready. Each file is compared before it is believed. A fault here comes after
    all the work, so it is one that the work survives, also if somebody has used the directory meanwhile.
    """
    out = output.path
    with on_machine(host):
        out.mkdir(parents=True, exist_ok=True)
        if _read_mark(out) == _mark_of(output):
            remove_unfinished(out, *out.glob("part*"))
            return 0
        if _holds_manifest(output):
            (out / output.config_name).unlink(missing_ok=True)
        else:
            _clear(output)
        with whole_file(out / MARK) as temporary, open(temporary, "w", encoding="utf-8") as file:
            file.write(json.dumps(_mark_of(output)) + "\n")
    return 0


def check_mark(output: MachineOutput) -> None:
    """Check that the directory is still the one that was claimed: no disk was unmounted, no other job has taken it.

    Raises
    ------
    EnvironmentFaultError
        If not.
    """
    if _read_mark(output.path) != _mark_of(output):
        raise EnvironmentFaultError(
            "the output directory is not the one that was claimed for these partitions",
            file=str(output.path),
            hint="see whether its disk is mounted, and whether another job writes there",
        )


def remove_unfinished(*directories: Path) -> None:
    """Delete what workers that were killed have left half written, in directories that nobody else writes to now."""
    for directory in directories:
        # not the mark's, which another machine may be writing, if the directory is the same there after all
        for path in directory.glob(f"[!.]*{TEMPORARY_SUFFIX}"):
            path.unlink(missing_ok=True)


@contextmanager
def on_machine(host: str) -> Iterator[None]:
    """Name the machine in errors, before the name of the file: ``10.0.0.2:/data/part1/graph.dgl``."""
    try:
        yield
    except GraphPartError as fault:
        fields = {name: getattr(fault, name) for name in ("place", "expected", "found", "hint")}
        raise type(fault)(fault.what, file=f"{host}:{fault.file or ''}", **fields) from fault
    except OSError as fault:
        if fault.filename is not None:
            fault.filename = f"{host}:{os.fsdecode(fault.filename)}"
        raise


def _clear(output: MachineOutput) -> None:
    """Delete what may be replaced."""
    try:
        _check_replaceable(output)
    except OutputExistsError as fault:
        raise EnvironmentFaultError(
            fault.what, file=fault.file, found=fault.found, hint="empty it, and run again"
        ) from fault
    if _read_mark(output.path) is not None:
        remove_unfinished(output.path, *output.path.glob("part*"))
    discard_output(output.path)


def _holds_manifest(output: MachineOutput) -> bool:
    """Whether the manifest of these very partitions is there."""
    path = output.path / output.manifest_name
    return path.is_file() and hash_file(str(path)).digest == output.digest


def _check_replaceable(output: MachineOutput) -> None:
    """Refuse a directory that holds something of others; what an earlier run of the same job has left may go."""
    out, mark = output.path, _read_mark(output.path)
    is_ours = mark is not None and mark.get("staging") == output.staging
    check_empty(out, output.overwrite or is_ours)
    for name in (output.config_name, output.manifest_name):
        if (out / name).exists() and not is_config(out / name):
            raise is_in_the_way(out / name)
    for path in out.glob("part*"):
        if PART_DIRECTORY.fullmatch(path.name) and not path.is_dir():
            raise is_in_the_way(path)


def _mark_of(output: MachineOutput) -> dict[str, Any]:
    return {"staging": output.staging, "manifest": output.digest}


def _read_mark(out: Path) -> dict[str, Any] | None:
    try:
        with attach_path_to_error(out / MARK):
            content = json.loads((out / MARK).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}
