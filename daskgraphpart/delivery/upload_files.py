"""Pass `upload-files`: finished files of partitions go from the staging directory to a store, the config last.

A unit is one file; files go part by part. When all are there the store is asked for its listings, which must name every
file with its size, before the manifest and the config follow: partitions without a config are unfinished by definition.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import ResumeError
from daskgraphpart.layouts.manifest import SUFFIX, read_manifest
from daskgraphpart.storage.files import file_sizes_in
from daskgraphpart.storage.upload import upload_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from upath import UPath

    from daskgraphpart.dispatching.finish import Outcome
    from daskgraphpart.engine.runner import Runner


@dataclass(frozen=True, slots=True)
class UploadConfig:
    """Where files come from, and where they go."""

    staging: str
    target: UPath


def upload_partitions(outcome: Outcome, graph_name: str, target: UPath, runner: Runner) -> Outcome:
    """Send finished partitions to a store.

    Parameters
    ----------
    outcome : Outcome
        The partitions in the staging directory.
    graph_name : str
        Name of the graph.
    target : UPath
        Directory in the store.
    runner : Runner
        Runs the pass `upload-files`.

    Returns
    -------
    Outcome
        With the URL of the config.

    Raises
    ------
    EnvironmentFaultError
        If the store fails. There is no config in it then; the job can be continued.
    ResumeError
        If files that were uploaded by an earlier run of the job are gone, or are others.
    """
    staging = outcome.config_path.parent
    manifest_name, config_name = graph_name + SUFFIX, outcome.config_path.name
    manifest = read_manifest(staging / manifest_name)
    sizes = {name: found.nbytes for name, found in (manifest.files or {}).items() if name != config_name}
    config = UploadConfig(str(staging), target)
    runner.run(Pass("upload-files", upload, list(sizes), config, list(sizes.values())))
    _check_listings(target, sizes)
    for name in (manifest_name, config_name):
        upload(name, config)
    return replace(outcome, config_path=target / config_name)


def upload(name: str, config: UploadConfig) -> int:
    """Task of the pass `upload-files`: send one file, and return its size."""
    return upload_file(f"{config.staging}/{name}", config.target / name)


def _check_listings(target: UPath, sizes: Mapping[str, int]) -> None:
    """Compare what the store lists with what it was sent, in this run or in an earlier one."""
    directories = {name.rpartition("/")[0] for name in sizes}
    found: dict[str, int] = {}
    for directory in sorted(directories):
        prefix = f"{directory}/" if directory else ""
        listed = file_sizes_in(target / directory if directory else target)
        found.update({f"{prefix}{name}": size for name, size in listed.items()})
    for name, size in sizes.items():
        if found.get(name) != size:
            raise ResumeError(
                "a file that was uploaded is not in the store any more",
                file=target / name,
                expected=f"{size:,} bytes",
                found=f"{found[name]:,}" if name in found else "no such file",
                hint="somebody has changed it; add --restart to start over",
            )
