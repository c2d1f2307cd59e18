"""Bring partitions to the disks of machines: part p goes to line p, modulo lines, as in DGL.

A worker on each machine runs the tasks about it. From the first file to the config, a mark in the directory names the
job that writes there.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from daskgraphpart.dispatching.output_directory import check_claimable, discard_output, discard_unfinished
from daskgraphpart.dispatching.workspace import WORKSPACE_NAME
from daskgraphpart.engine.resources import is_on_this_machine
from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.errors import (
    EnvironmentFaultError,
    GraphPartError,
    OptionError,
    OutputExistsError,
)
from daskgraphpart.storage.atomic import write_bytes
from daskgraphpart.storage.checksums import FileChecksum, hash_file
from daskgraphpart.storage.lock import LOCK_NAME
from daskgraphpart.storage.paths import is_remote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from upath import UPath

    from daskgraphpart.storage.paths import Location


ConfigT = TypeVar("ConfigT")

MARK = ".daskgraphpart-delivery"
STAGING_NAME = ".daskgraphpart-staging"


@dataclass(frozen=True, slots=True)
class Machines:
    """A directory on each of several machines: its path, the machine on each line of a file, that file."""

    path: Path
    hosts: tuple[str, ...]
    file: str

    @property
    def distinct(self) -> tuple[str, ...]:
        """Each machine once, in line order."""
        return tuple(dict.fromkeys(self.hosts))

    def host_of(self, part: int | None) -> str:
        """Machine of a part, as in DGL's dispatch pipeline; the first for files of the whole graph."""
        return self.hosts[(part or 0) % len(self.hosts)]

    def check_cluster(self, cluster: object) -> None:
        """Refuse to run without workers on other machines."""
        if is_on_this_machine(cluster):
            raise OptionError(
                "writing to other machines needs a worker on each",
                file=self.file,
                place="--cluster",
                expected="the address, scheduler file or client of a dask cluster with a worker on each machine",
                found=cluster,
                hint="start `dask scheduler` and `dask worker`, or leave out --dispatch to write all parts here",
            )

    def check_parts(self, num_parts: int) -> None:
        """Refuse, as DGL does, machines that cannot share the parts evenly."""
        if num_parts % len(self.hosts):
            raise OptionError(
                "the machines cannot share the parts evenly",
                file=self.file,
                expected=f"a number of lines that divides {num_parts}",
                found=len(self.hosts),
            )


@dataclass(frozen=True, slots=True)
class Destination:
    """A store or machines, which take complete files."""

    target: UPath | Machines
    staging: str  # shared local directory in which to make files that are not streamed
    own_names: tuple[str, ...]  # paths of what describes the parts, in writing order
    overwrite: bool  # replace partitions there

    @property
    def root(self) -> Location:
        """Directory in the store, or on every machine's disk."""
        return self.target.path if isinstance(self.target, Machines) else self.target

    def hosts_of(self, num_parts: int) -> tuple[str, ...] | None:
        """Machine of each part; None for a store."""
        if not isinstance(self.target, Machines):
            return None
        return tuple(self.target.host_of(part) for part in range(num_parts))

    def check(self, runner: Runner) -> None:
        """Check before work starts whether machines can take the parts."""
        if isinstance(self.target, Machines):
            run_on_each("check-machines", check_machine, self.target, self, runner)

    @property
    def directory(self) -> Path:
        """Directory on every machine's disk."""
        assert isinstance(self.target, Machines), "a store has no machines"
        return self.target.path


def read_machines(file: str | os.PathLike[str], directory: Path) -> Machines:
    """Read a file of machines as DGL does: an address or name per line; ignores ports."""
    path, expected = Path(file), "one address per line"
    try:
        lines = path.read_bytes().decode("ascii").splitlines()
    except (FileNotFoundError, IsADirectoryError, UnicodeDecodeError) as fault:
        found = getattr(fault, "strerror", "other text than ASCII")
        raise OptionError(
            "not a file of machines", file=path, place="--dispatch", expected=expected, found=found
        ) from fault
    hosts = []
    for number, line in enumerate(lines, 1):
        words = line.split()
        if len(words) > 3 or not all(word.isdigit() for word in words[1:]):
            raise OptionError(
                "invalid line in a file of machines",
                file=path,
                place=f"line {number}",
                expected="an address, and optionally a port",
                found=line.strip(),
            )
        hosts += words[:1]
    if not hosts:
        raise OptionError("the file of machines is empty", file=path, expected=expected)
    return Machines(directory.absolute(), tuple(hosts), str(path))


@dataclass(frozen=True, slots=True)
class SentFiles:
    """Checksums of sent files by machine and path."""

    destination: Destination
    checksums: Mapping[str, Mapping[str, FileChecksum]]


def run_on_each(
    name: str, task: Callable[[str, ConfigT], None], machines: Machines, config: ConfigT, runner: Runner
) -> None:
    """Run a task of this file once on every machine."""
    units = [Unit(host, 0, host=host) for host in machines.distinct]
    runner.run(Pass(name, _run_on, units, MachineCall(task, config)))


@dataclass(frozen=True, slots=True)
class MachineCall(Generic[ConfigT]):
    """A task of this file, and its other argument."""

    task: Callable[[str, ConfigT], None]
    config: ConfigT


def _run_on(host: str, call: MachineCall[ConfigT]) -> None:
    with attach_host_to_error(host):
        call.task(host, call.config)


def check_machine(_: str, destination: Destination) -> None:
    """Check, without changes, whether a machine's directory can be the output."""
    out = destination.directory
    there = next(path for path in (out, *out.parents) if path.exists())
    if not there.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(there))
    if not os.access(there, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(there))
    check_claimable(out, destination.own_names, destination.overwrite or _is_ours(destination))


def claim_machine(_: str, destination: Destination) -> None:
    """Delete partitions to replace and leave the mark; a fault here can be retried."""
    out = destination.directory
    out.mkdir(parents=True, exist_ok=True)
    try:
        check_claimable(out, destination.own_names, destination.overwrite or _is_ours(destination))
    except OutputExistsError as fault:
        hint = "empty it, and run again"
        raise EnvironmentFaultError(fault.what, file=fault.file, found=fault.found, hint=hint) from fault
    discard_output(out)
    discard_unfinished(out)
    write_bytes(out / MARK, destination.staging.encode())


def check_files(host: str, sent: SentFiles) -> None:
    """Compare a machine's files with their checksums."""
    for name, expected in sent.checksums[host].items():
        path = sent.destination.directory / name
        found = hash_file(str(path)) if path.is_file() else None
        if found != expected:
            raise EnvironmentFaultError(
                "a file on this machine is missing or has changed",
                file=path,
                expected=f"{expected.nbytes:,} bytes, checksum {expected.digest}",
                found="no such file" if found is None else f"{found.nbytes:,} bytes, checksum {found.digest}",
                hint="find out what changes that directory, and run again",
            )


def describe_parts(_: str, sent: SentFiles) -> None:
    """Copy what describes the parts to a machine, the config last, and remove the mark."""
    out = sent.destination.directory
    for name in sent.destination.own_names:
        (out / name).parent.mkdir(exist_ok=True)
        write_bytes(out / name, Path(sent.destination.staging, name).read_bytes())
    (out / MARK).unlink(missing_ok=True)


def _is_ours(destination: Destination) -> bool:
    """Whether this job's mark is there, or its manifest if that machine is complete."""
    out, staging, manifest = destination.directory, Path(destination.staging), destination.own_names[0]
    pairs = ((out / MARK, destination.staging.encode()), (out / manifest, _content(staging / manifest)))
    return any(content is not None and _content(path) == content for path, content in pairs)


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


@contextmanager
def attach_host_to_error(host: str) -> Iterator[None]:
    """Put the machine, if any, before the file: ``10.0.0.2:/data/part1/graph.dgl``."""
    try:
        yield
    except GraphPartError as fault:
        if not host:
            raise
        raise fault.restated(type(fault), file=f"{host}:{fault.file or ''}") from fault
    except OSError as fault:
        if host and fault.filename is not None:
            fault.filename = f"{host}:{os.fsdecode(fault.filename)}"
        raise


def staging_directory(target: Location, workspace: str | None) -> Path:
    """Name the local directory in which to make files for a store or machines."""
    what = "a store" if is_remote(target) else "the disks of machines"
    if workspace is None:
        raise OptionError(
            f"partitions for {what} need a workspace",
            file=target,
            place="--workspace",
            expected="a directory that workers and client share, with room for partitions and temporary files",
        )
    of_output = hashlib.sha256(str(target).encode()).hexdigest()[:12]
    return Path(workspace).absolute() / f"{STAGING_NAME}-{of_output}"


def remove_staging(directory: Path) -> None:
    """Remove a finished job's staging directory; keep it if the job can resume.

    A workspace in it was kept, or a run resumes from it; a lock belongs to another run.
    """
    if not (directory / WORKSPACE_NAME).exists() and not (directory / LOCK_NAME).exists():
        shutil.rmtree(directory, ignore_errors=True)
