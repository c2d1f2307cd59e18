"""What pip writes about a package."""

from __future__ import annotations

import tomllib
from pathlib import Path

import daskgraphpart

PACKAGE = Path(daskgraphpart.__file__).parent
PROJECT = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]


def write_metadata(
    root: Path,
    package: str = "daskgraphpart",
    version: str = PROJECT["version"],
    groups: dict[str, dict[str, str]] = PROJECT["entry-points"],
) -> None:
    """Write what pip would write about a package beside it: its entry points."""
    directory = Path(root) / f"{package.replace('-', '_')}-{version}.dist-info"
    directory.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {package}", f"Version: {version}"]
    if package == PROJECT["name"]:
        lines += [f"Requires-Dist: {needed}" for needed in PROJECT["dependencies"]]
        for extra, of_extra in PROJECT["optional-dependencies"].items():
            lines += [f'Requires-Dist: {needed}; extra == "{extra}"' for needed in of_extra]
    (directory / "METADATA").write_text("\n".join(lines) + "\n")
    lines = [f"[{group}]\n" + "".join(f"{n} = {home}\n" for n, home in of.items()) for group, of in groups.items()]
    (directory / "entry_points.txt").write_text("\n".join(lines))
