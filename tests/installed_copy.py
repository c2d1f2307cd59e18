"""What pip writes about a package."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def write_metadata(root: Path, package: str, version: str, groups: dict[str, dict[str, str]]) -> None:
    """Write what pip would write about a package beside it: its entry points."""
    directory = root / f"{package.replace('-', '_')}-{version}.dist-info"
    directory.mkdir()
    (directory / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    lines = [f"[{group}]\n" + "".join(f"{n} = {home}\n" for n, home in of.items()) for group, of in groups.items()]
    (directory / "entry_points.txt").write_text("\n".join(lines))
