"""Bring partitions to the disks of machines: part p goes to line p, modulo lines, as in DGL.

A worker on each machine runs the tasks about it. From the first file to the config, a mark in the directory names the
job that writes there.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Generic, TypeVar

from daskgraphpart.dispatching.delivery.export import attach_host_to_error, export, open_whole
from daskgraphpart.dispatching.destination import Destination, OutputFile
from daskgraphpart.dispatching.output_directory import check_claimable, discard_output, discard_unfinished
from daskgraphpart.engine.resources import is_on_this_machine
from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.errors import EnvironmentFaultError, OptionError, OutputExistsError
from daskgraphpart.storage.atomic import write_bytes
from daskgraphpart.storage.checksums import FileChecksum, HashingWriter, hash_file
from daskgraphpart.storage.paths import text_of_path

if TYPE_CHECKING:
    from daskgraphpart.dispatching.delivery.staged_array import StagedArray


ConfigT = TypeVar("ConfigT")

MARK = ".daskgraphpart-delivery"


@dataclass(frozen=True, slots=True)
class Machines(Destination):
    """A directory on each of several machines: the machine on each line of a file, and that file."""

    what = "the disks of machines"
    root: Path
    lines: tuple[str, ...] = ()
    file: str = ""

    @property
    def hosts(self) -> tuple[str, ...]:
        return self.lines

    @property
    def distinct(self) -> tuple[str, ...]:
        """Each machine once, in line order."""
        return tuple(dict.fromkeys(self.lines))

    def check_place(self, cluster: object) -> None:
        """Refuse to run without workers on other machines."""
        if is_on_this_machine(cluster):
            raise OptionError(
                "writing to other machines needs a worker on each",
                file=self.file,
                option="cluster",
                expected="the address, scheduler file or client of a dask cluster with a worker on each machine",
                found=cluster,
                hint="start `dask scheduler` and `dask worker`, or leave out --dispatch-to to write all parts here",
            )

    def check_parts(self, num_parts: int) -> None:
        """Refuse, as DGL does, machines that cannot share the parts evenly."""
        if num_parts % len(self.lines):
            raise OptionError(
                "the machines cannot share the parts evenly",
                file=self.file,
                expected=f"a number of lines that divides {num_parts}",
                found=len(self.lines),
            )

    def check(self, runner: Runner) -> None:
        """Check on each machine whether it can take the parts."""
        run_on_each("check-machines", check_machine, self, self, runner)

    def open(self, path: str, nbytes: int) -> AbstractContextManager[HashingWriter]:
        """Open a file on the disk of the machine that this runs on."""
        return open_whole(self.root / path)

    def send(
        self, files: Sequence[OutputFile], staged: Mapping[str, StagedArray], runner: Runner
    ) -> dict[str, FileChecksum]:
        """Replace what the machines have by the files of all parts; machines take turns."""
        run_on_each("claim-machines", claim_machine, self, self, runner)
        in_turns = sorted(files, key=lambda file: (PurePath(file.name).name, file.part or 0))
        return export(self.staging, self, in_turns, staged, runner)

    def describe(self, made: Path, sent: Mapping[OutputFile, FileChecksum], runner: Runner) -> None:
        """Let each machine check its files, then copy what describes the parts."""
        checksums: dict[str, dict[str, FileChecksum]] = {host: {} for host in self.distinct}
        for file, checksum in sent.items():
            checksums[self.host_of(file.part)][file.path] = checksum
        sent_files = SentFiles(self, checksums)
        run_on_each("check-files", check_files, self, sent_files, runner)
        run_on_each("describe-parts", describe_parts, self, sent_files, runner)


def read_machines(file: str | os.PathLike[str], directory: Path) -> Machines:
    """Read a file of machines as DGL does: an address or name per line; ignores ports."""
    path, expected = Path(text_of_path(file, "dispatch_to")), "one address per line"
    try:
        lines = path.read_bytes().decode("ascii").splitlines()
    except (FileNotFoundError, IsADirectoryError, UnicodeDecodeError) as fault:
        message = getattr(fault, "strerror", "other text than ASCII")
        raise OptionError(
            "not a file of machines", file=path, option="dispatch_to", expected=expected, found=message
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
    return Machines(directory.absolute(), lines=tuple(hosts), file=str(path))


@dataclass(frozen=True, slots=True)
class SentFiles:
    """Checksums of sent files by machine and path."""

    destination: Machines
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


def check_machine(_: str, destination: Machines) -> None:
    """Check, without changes, whether a machine's directory can be the output."""
    out = destination.root
    there = next(path for path in (out, *out.parents) if path.exists())
    if not there.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(there))
    if not os.access(there, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(there))
    check_claimable(out, destination.own_names, destination.overwrite or _is_ours(destination))


def claim_machine(_: str, destination: Machines) -> None:
    """Delete partitions to replace and leave the mark; a fault here can be retried."""
    out = destination.root
    out.mkdir(parents=True, exist_ok=True)
    try:
        check_claimable(out, destination.own_names, destination.overwrite or _is_ours(destination))
    except OutputExistsError as fault:
        hint = "empty it"
        raise EnvironmentFaultError(fault.what, file=fault.file, found=fault.found, hint=hint) from fault
    discard_output(out)
    discard_unfinished(out)
    write_bytes(out / MARK, destination.staging.encode())


def check_files(host: str, sent: SentFiles) -> None:
    """Compare a machine's files with their checksums."""
    for name, expected in sent.checksums[host].items():
        path = sent.destination.root / name
        checksum = hash_file(str(path)) if path.is_file() else None
        if checksum != expected:
            raise EnvironmentFaultError(
                "a file on this machine is missing or has changed",
                file=path,
                expected=f"{expected.nbytes:,} bytes, checksum {expected.digest}",
                found="no such file" if checksum is None else f"{checksum.nbytes:,} bytes, checksum {checksum.digest}",
                hint="find out what changes that directory",
            )


def describe_parts(_: str, sent: SentFiles) -> None:
    """Copy what describes the parts to a machine, the config last, and remove the mark."""
    out = sent.destination.root
    for name in sent.destination.own_names:
        (out / name).parent.mkdir(exist_ok=True)
        write_bytes(out / name, Path(sent.destination.staging, name).read_bytes())
    (out / MARK).unlink(missing_ok=True)


def _is_ours(destination: Machines) -> bool:
    """Whether this job's mark is there, or its manifest if that machine is complete."""
    out, staging, manifest = destination.root, Path(destination.staging), destination.own_names[0]
    pairs = ((out / MARK, destination.staging.encode()), (out / manifest, _content(staging / manifest)))
    return any(content is not None and _content(path) == content for path, content in pairs)


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
