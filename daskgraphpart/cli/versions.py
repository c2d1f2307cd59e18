"""What `--version --verbose` prints: what a bug report needs to know of an installation."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib import metadata

from daskgraphpart.engine.resources import available_memory, usable_cores

PACKAGE = "daskgraphpart"


def version_report() -> str:
    """Versions of this package, of Python and of every library it uses, and the machine: one `name: value` a line."""
    memory = available_memory() / 1e9
    rows = {
        PACKAGE: metadata.version(PACKAGE),
        "python": f"{platform.python_version()} ({sys.executable})",
        "system": platform.platform(),
        "machine": f"{usable_cores()} of {os.cpu_count()} cores, {memory:.1f} GB of memory",
        **{name: _version(name) for name in _libraries()},
        "plug-ins": ", ".join(_packages_with_plugins()) or "none of other packages",
    }
    width = max(map(len, rows)) + 2
    return "\n".join(f"{name + ':':{width}}{value}" for name, value in rows.items())


def _libraries() -> list[str]:
    """Names of the libraries of the package and of its extras for users, and of DGL and PyG if they are installed."""
    names = []
    for requirement in metadata.requires(PACKAGE) or []:
        name, _, condition = requirement.partition(";")
        if not re.search(r"extra == ['\"](dev|docs|notebook|dgl)['\"]", condition):
            names.append(re.split(r"[ \[<>=!~]", name.strip(), maxsplit=1)[0])
    return list(dict.fromkeys([*names, "dgl", "torch-geometric"]))


def _packages_with_plugins() -> list[str]:
    """Name and version of the other packages that add to this one."""
    groups = [group for group in metadata.entry_points().groups if group.startswith(f"{PACKAGE}.")]
    distributions = {entry.dist for group in groups for entry in metadata.entry_points(group=group) if entry.dist}
    return sorted({f"{one.name} {one.version}" for one in distributions if one.name != PACKAGE})


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
