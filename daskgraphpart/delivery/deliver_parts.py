"""Pass `deliver-parts`: finished files go from the staging directory to the disk of the machine that will serve them.

A unit is one file, and is copied by a worker on its machine; its checksum is compared with the manifest's on the way.
When all files of all machines are there, each machine looks whether its own are, and gets the manifest; when all have
done that, each gets the config. Partitions without a config are unfinished by definition.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.delivery.machine_output import MARK, check_mark, claim_machine, on_machine, remove_unfinished
from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import EnvironmentFaultError
from daskgraphpart.layouts.manifest import read_manifest
from daskgraphpart.storage.atomic import whole_file
from daskgraphpart.storage.checksums import FileChecksum, hash_file
from daskgraphpart.storage.copy_file import copy_checked, is_copied

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from daskgraphpart.delivery.machine_output import MachineOutput
    from daskgraphpart.delivery.machines import MachineDirectory
    from daskgraphpart.dispatching.finish import Outcome
    from daskgraphpart.engine.runner import Runner

_OF_PART = re.compile(r"part(\d+)/")


@dataclass(frozen=True, slots=True)
class Parcel:
    """One file for one machine.

    Parameters
    ----------
    host : str
        The machine.
    name : str
        The file, relative to the output directory.
    checksum : FileChecksum
        Its size and checksum.
    """

    host: str
    name: str
    checksum: FileChecksum


def deliver_parts(outcome: Outcome, output: MachineOutput, runner: Runner) -> Outcome:
    """Send finished partitions to their machines.

    All of it is one step of the journal: a run that continues asks the machines again which files are there, since a
    disk may be another by then, and sends what is missing.

    Parameters
    ----------
    outcome : Outcome
        The partitions in the staging directory.
    output : MachineOutput
        Where they go.
    runner : Runner
        Runs the passes.

    Returns
    -------
    Outcome
        With the path of the config on the machines, and where the parts are.

    Raises
    ------
    EnvironmentFaultError
        If a machine fails, or its last worker is lost. No machine has a config then, unless all have all files; the
        job can be continued.
    """
    manifest_path = Path(output.staging, output.manifest_name)
    files = read_manifest(manifest_path).files or {}
    directory, output = output.directory, replace(output, digest=hash_file(str(manifest_path)).digest)
    runner.step("deliver", lambda: _deliver_all(files, output, runner))
    num_parts = outcome.book.num_parts
    nbytes = [0] * num_parts
    for name, found in files.items():
        if part := _OF_PART.match(name):
            nbytes[int(part[1])] += found.nbytes
    return replace(
        outcome,
        config_path=directory.path / output.config_name,
        hosts=tuple(directory.host_of(part) for part in range(num_parts)),
        part_nbytes=tuple(nbytes),
    )


def _deliver_all(files: Mapping[str, FileChecksum], output: MachineOutput, runner: Runner) -> None:
    runner.check_hosts(output.directory.machines, output.directory.file)
    _on_each("claim-machines", claim_machine, output, runner)
    of_parts = ((_host_of(name, output.directory), name, checksum) for name, checksum in files.items())
    parcels = _in_turn([Parcel(host, name, checksum) for host, name, checksum in of_parts if host is not None])
    runner.run(
        Pass(
            "deliver-parts",
            deliver,
            parcels,
            output,
            [p.checksum.nbytes for p in parcels],
            unit_hosts=[p.host for p in parcels],
        )
    )
    _on_each("deliver-manifest", deliver_manifest, output, runner)
    _on_each("deliver-config", deliver_config, output, runner)


def _in_turn(parcels: Sequence[Parcel]) -> list[Parcel]:
    """Order files so that all machines have something to do from the beginning."""
    places, seen = [], Counter[str]()
    for parcel in parcels:
        places.append(seen[parcel.host])
        seen[parcel.host] += 1
    return [parcels[i] for i in np.argsort(places, kind="stable")]


def _on_each(name: str, task: Callable[[str, MachineOutput], int], output: MachineOutput, runner: Runner) -> None:
    """Run a task once on every machine."""
    machines = output.directory.machines
    runner.run(Pass(name, task, machines, output, [0] * len(machines), unit_hosts=machines))


def deliver(parcel: Parcel, output: MachineOutput) -> int:
    """Task of the pass `deliver-parts`: copy one file, unless it is there, and return its size."""
    target = f"{output.path}/{parcel.name}"
    with on_machine(parcel.host):
        check_mark(output)
        if not is_copied(target, parcel.checksum):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with whole_file(target) as temporary:
                copy_checked(f"{output.staging}/{parcel.name}", temporary, parcel.checksum)
                check_mark(output)  # a task may be slow, and another job have come meanwhile
    return parcel.checksum.nbytes


def deliver_manifest(host: str, output: MachineOutput) -> int:
    """Task of the pass `deliver-manifest`: see that all files of a machine are there, and add the manifest."""
    source = f"{output.staging}/{output.manifest_name}"
    with on_machine(host):
        check_mark(output)
        for name, checksum in (read_manifest(Path(source)).files or {}).items():
            if _host_of(name, output.directory) == host:
                _check_there(output.path / name, checksum)
                remove_unfinished((output.path / name).parent)
        with whole_file(output.path / output.manifest_name) as temporary:
            copy_checked(source, temporary, FileChecksum(os.stat(source).st_size, output.digest))
    return 0


def deliver_config(host: str, output: MachineOutput) -> int:
    """Task of the pass `deliver-config`: add the config, and remove the mark of a delivery that is under way."""
    manifest = read_manifest(Path(output.staging, output.manifest_name))
    checksum = (manifest.files or {})[output.config_name]
    target = output.path / output.config_name
    with on_machine(host):
        if not is_copied(str(target), checksum):
            check_mark(output)
            with whole_file(target) as temporary:
                copy_checked(f"{output.staging}/{output.config_name}", temporary, checksum)
        (output.path / MARK).unlink(missing_ok=True)
    return 0


def _host_of(name: str, directory: MachineDirectory) -> str | None:
    """Machine that a file goes to: that of its part; None for the config, which is of none."""
    part = _OF_PART.match(name)
    return None if part is None else directory.host_of(int(part[1]))


def _check_there(path: Path, checksum: FileChecksum) -> None:
    found = path.stat().st_size if path.is_file() else None
    if found != checksum.nbytes:
        raise EnvironmentFaultError(
            "a file that was delivered is gone, or another",
            file=str(path),
            expected=f"{checksum.nbytes:,} bytes",
            found="no such file" if found is None else f"{found:,}",
            hint="see what happens to that directory, and run again",
        )
