"""Bring partitions to the disks of the machines that will serve them: part p goes to line p, modulo lines, as in DGL.

A task runs on the machine that it is about, by a worker there. From the first file to the config a mark in the
directory holds the name of the job that writes there.
"""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from daskgraphpart.dispatching.output import check_claimable, discard_output, discard_unfinished
from daskgraphpart.engine.cluster_names import is_on_this_machine
from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.errors import (
    EnvironmentFaultError,
    GraphPartError,
    OptionError,
    OutputExistsError,
)
from daskgraphpart.storage.atomic import write_bytes
from daskgraphpart.storage.checksums import FileChecksum, hash_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from upath import UPath

    from daskgraphpart.storage.paths import Location


ConfigT = TypeVar("ConfigT")

MARK = ".daskgraphpart-delivery"


@dataclass(frozen=True, slots=True)
class Machines:
    """A directory on the disk of each of several machines: its path, the machine of each line of a file, that file."""

    path: Path
    hosts: tuple[str, ...]
    file: str

    @property
    def distinct(self) -> tuple[str, ...]:
        """Each machine once, in the order of the lines."""
        return tuple(dict.fromkeys(self.hosts))

    def host_of(self, part: int | None) -> str:
        """Machine of a part, the one that DGL's dispatch pipeline writes it on; files of the whole graph: the first."""
        return self.hosts[(part or 0) % len(self.hosts)]

    def check_cluster(self, cluster: object) -> None:
        """Refuse tasks that run on this machine only."""
        if is_on_this_machine(cluster):
            raise OptionError(
                "parts go to other machines by workers that run there",
                file=self.file,
                place="--cluster",
                expected="a dask cluster with a worker on each machine: its address, its scheduler file, or a client",
                found=cluster,
                hint="start dask scheduler and dask worker, or leave out --dispatch to write all parts here",
            )

    def check_parts(self, num_parts: int) -> None:
        """Refuse, as DGL's dispatch does, machines that cannot share the parts evenly."""
        if num_parts % len(self.hosts):
            raise OptionError(
                "the parts cannot be shared evenly by the machines",
                file=self.file,
                expected=f"a number of lines that divides {num_parts}",
                found=len(self.hosts),
            )


@dataclass(frozen=True, slots=True)
class Destination:
    """A store or machines, which take whole files."""

    target: UPath | Machines
    staging: str  # local directory that all workers see, in which files that are not streamed are made before
    own_names: tuple[str, ...]  # paths of what describes the parts, in the order in which it is written
    overwrite: bool  # whether partitions there may be replaced

    @property
    def root(self) -> Location:
        """Directory in the store, or on the disk of every machine."""
        return self.target.path if isinstance(self.target, Machines) else self.target

    def hosts_of(self, num_parts: int) -> tuple[str, ...] | None:
        """Machine of each part; None for a store."""
        if not isinstance(self.target, Machines):
            return None
        return tuple(self.target.host_of(part) for part in range(num_parts))

    def check(self, runner: Runner) -> None:
        """Look before work starts whether machines can take the parts."""
        if isinstance(self.target, Machines):
            run_on_each("check-machines", check_machine, self.target, self, runner)

    @property
    def directory(self) -> Path:
        """Directory on the disk of every machine."""
        assert isinstance(self.target, Machines), "a store has no machines"
        return self.target.path


def read_machines(file: str | os.PathLike[str], directory: Path) -> Machines:
    """Read a file of machines as DGL reads it: an address, or a name, on each line; ports behind it are ignored."""
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
                "not a line of a file of machines",
                file=path,
                place=f"line {number}",
                expected="an address, and a port if there is one",
                found=line.strip(),
            )
        hosts += words[:1]
    if not hosts:
        raise OptionError("a file of machines without any", file=path, expected=expected)
    return Machines(directory.absolute(), tuple(hosts), str(path))


@dataclass(frozen=True, slots=True)
class SentFiles:
    """What machines were sent: checksums of files by machine and path."""

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
    """A task of this file, and what it is called with beside the machine."""

    task: Callable[[str, ConfigT], None]
    config: ConfigT


def _run_on(host: str, call: MachineCall[ConfigT]) -> None:
    with attach_host_to_error(host):
        call.task(host, call.config)


def check_machine(_: str, destination: Destination) -> None:
    """Look before work starts whether the directory on a machine can be the output, and touch nothing."""
    out = destination.directory
    there = next(path for path in (out, *out.parents) if path.exists())
    if not there.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(there))
    if not os.access(there, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(there))
    check_claimable(out, destination.own_names, destination.overwrite or _is_ours(destination))


def claim_machine(_: str, destination: Destination) -> None:
    """Delete the partitions that may be replaced, and leave the mark; a fault here is one that the work survives."""
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
    """Compare the files that a machine was sent with their checksums."""
    for name, expected in sent.checksums[host].items():
        path = sent.destination.directory / name
        found = hash_file(str(path)) if path.is_file() else None
        if found != expected:
            raise EnvironmentFaultError(
                "a file that was sent is gone, or another",
                file=path,
                expected=f"{expected.nbytes:,} bytes, checksum {expected.digest}",
                found="no such file" if found is None else f"{found.nbytes:,} bytes, checksum {found.digest}",
                hint="see what happens to that directory, and run again",
            )


def describe_parts(_: str, sent: SentFiles) -> None:
    """Copy what describes the parts to a machine, the config last, and remove the mark."""
    out = sent.destination.directory
    for name in sent.destination.own_names:
        (out / name).parent.mkdir(exist_ok=True)
        write_bytes(out / name, Path(sent.destination.staging, name).read_bytes())
    (out / MARK).unlink(missing_ok=True)


def _is_ours(destination: Destination) -> bool:
    """Whether the mark of this job is there, or its manifest, where that machine was complete already."""
    out, staging, manifest = destination.directory, Path(destination.staging), destination.own_names[0]
    pairs = ((out / MARK, destination.staging.encode()), (out / manifest, _content(staging / manifest)))
    return any(content is not None and _content(path) == content for path, content in pairs)


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


@contextmanager
def attach_host_to_error(host: str) -> Iterator[None]:
    """Name the machine, if there is one, before the file: ``10.0.0.2:/data/part1/graph.dgl``."""
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
