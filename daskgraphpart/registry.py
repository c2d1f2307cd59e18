"""Find plug-ins by their entry points: layouts, scans, methods and commands, ours and those of other packages.

A package registers a name and an object in the group ``daskgraphpart.layouts``, ``.scans``, ``.methods`` or
``.commands``. Names are known without importing anything; a plug-in is imported when it is used.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import PluginError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@cache
def _found(group: str) -> dict[str, list[EntryPoint]]:
    from importlib.metadata import entry_points  # takes 25 ms, and much of it is not for plain imports

    found: dict[str, list[EntryPoint]] = {}
    for one in sorted(entry_points(group=f"daskgraphpart.{group}"), key=lambda entry: (entry.name, _package(entry))):
        found.setdefault(one.name, []).append(one)
    return found


def plugin_names(group: str) -> tuple[str, ...]:
    """List the names that are registered in a group, sorted."""
    return tuple(_found(group))


def load_plugin(group: str, name: str, kind: type | None = None) -> Any:
    """Import a plug-in; it must be a subclass of `kind`, if given.

    Raises
    ------
    PluginError
        If several packages register the name, or the plug-in cannot be imported or is of another kind.
    """
    entries, what = _found(group)[name], f"{group.removesuffix('s')} {name!r}"
    if len(entries) > 1:
        packages = " and ".join(map(_package, entries))
        raise PluginError(f"{packages} both register the {what}", hint="uninstall one of them")
    (entry,) = entries
    hint = f"update or uninstall {_package(entry).partition(' ')[0]}"
    try:
        found = entry.load()
    except Exception as fault:  # a package of somebody else may raise anything
        error = f"{type(fault).__name__}: {fault}"
        raise PluginError(f"cannot import the {what} of {_package(entry)}", found=error, hint=hint) from fault
    if kind is not None and not (isinstance(found, type) and issubclass(found, kind)):
        what = f"the {what} of {_package(entry)} does not keep its contract"
        raise PluginError(what, expected=f"a subclass of {kind.__name__}", found=repr(found), hint=hint)
    return found


def _package(entry: EntryPoint) -> str:
    """Name and version of the package that registers a plug-in."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else entry.value
