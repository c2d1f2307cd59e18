"""The machines that will serve the parts, listed as DGL lists them: part p goes to that of line p modulo lines."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from daskgraphpart.engine.cluster_names import is_on_this_machine, needs_cluster
from daskgraphpart.errors import InputFileNotFoundError, OptionError
from daskgraphpart.storage.faults import attach_path_to_error

STAGING_NAME = ".daskgraphpart-deliver"


@dataclass(frozen=True, slots=True)
class MachineDirectory:
    """A directory that is another one on each of several machines: on their own disks.

    Parameters
    ----------
    path : Path
        The directory, absolute.
    hosts : tuple of str
        Name or address of a machine for each line of the file.
    file : str
        The file that lists them.
    """

    path: Path
    hosts: tuple[str, ...]
    file: str

    @property
    def machines(self) -> tuple[str, ...]:
        """Each machine once, in the order of the lines."""
        return tuple(dict.fromkeys(self.hosts))

    def host_of(self, part: int) -> str:
        """Machine of a part; the one that DGL's dispatch pipeline writes it on."""
        return self.hosts[part % len(self.hosts)]

    def check_parts(self, num_parts: int) -> None:
        """Refuse what DGL's dispatch refuses: machines that cannot share the parts evenly.

        Raises
        ------
        OptionError
            If the number of lines does not divide that of the parts.
        """
        if num_parts % len(self.hosts):
            raise OptionError(
                "the parts cannot be shared evenly by the machines",
                file=self.file,
                expected=f"a number of lines that divides {num_parts}",
                found=len(self.hosts),
            )

    def check_cluster(self, cluster: object) -> None:
        """Check that tasks run on a cluster of several machines.

        Raises
        ------
        OptionError
            If they run on this machine.
        """
        if is_on_this_machine(cluster):
            raise needs_cluster(str(cluster), self.file)

    def staging_directory(self, workspace: str | None) -> Path:
        """Name the directory in which partitions are made before they are delivered.

        Raises
        ------
        OptionError
            If no workspace is given.
        """
        if workspace is None:
            raise OptionError(
                "partitions for the disks of machines are made in a workspace first",
                file=str(self.path),
                place="--workspace",
                expected="a directory that all workers share with the client, with room for the partitions and for "
                "temporary files",
            )
        of_output = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:12]
        return Path(workspace).absolute() / f"{STAGING_NAME}-{of_output}"


def read_machines(file: str | os.PathLike[str], directory: Path) -> MachineDirectory:
    """Read a file of machines as DGL reads it: an address, or a name, on each line.

    Parameters
    ----------
    file : path
        The file. Blank lines are ignored, and so are ports and numbers of servers behind the address.
    directory : Path
        Directory on each machine.

    Raises
    ------
    InputFileNotFoundError
        If there is no such file.
    OptionError
        If it is not a list of machines.
    """
    path = Path(file)
    try:
        with attach_path_to_error(path):
            lines = path.read_bytes().decode("ascii").splitlines()
    except FileNotFoundError as fault:
        raise InputFileNotFoundError("there is no such file of machines", file=str(path), place="--dispatch") from fault
    except (IsADirectoryError, UnicodeDecodeError) as fault:
        raise OptionError(
            "not a file of machines", file=str(path), place="--dispatch", expected="one address per line"
        ) from fault
    hosts = []
    for number, line in enumerate(lines, 1):
        words = line.split()
        if len(words) > 3 or not all(word.isdigit() for word in words[1:]):
            raise OptionError(
                "not a line of a file of machines",
                file=str(path),
                place=f"line {number}",
                expected="an address, and a port if there is one",
                found=line.strip(),
            )
        hosts += words[:1]
    if not hosts:
        raise OptionError("a file of machines without any", file=str(path), expected="one address per line")
    return MachineDirectory(directory.absolute(), tuple(hosts), str(path))
