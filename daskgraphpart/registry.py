"""Find plug-ins by their entry points: ours, and those of other packages.

A package registers names in a group. Names are known without importing anything; a plug-in is imported when it is used.

=========== ====================================================================================================
``scans``   a `graph.scan.Scan`, whose `open` says what it can read in place of a graph
``layouts`` a `layouts.layout.Layout`, which ``--layout NAME`` writes
=========== ====================================================================================================
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from daskgraphpart.errors import GraphPartError, PluginError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from importlib.metadata import EntryPoint

T = TypeVar("T")
WHERE_FROM = "if another package has it, install that package"


@cache
def _found(group: str) -> dict[str, list[EntryPoint]]:
    from importlib.metadata import entry_points  # takes 25 ms, and much of it is not for plain imports

    entries: dict[str, list[EntryPoint]] = {}
    for one in sorted(entry_points(group=f"daskgraphpart.{group}"), key=lambda entry: entry.name):
        entries.setdefault(one.name, []).append(one)
    return entries


def plugin_names(group: str) -> tuple[str, ...]:
    """List the names that are registered in a group, sorted."""
    return tuple(_found(group))


def plugin_name(group: str, kind: type) -> str:
    """Return the name by which a class is registered; empty if it is not."""
    home = f"{kind.__module__}:{kind.__qualname__}"
    return next((name for name, (entry, *_) in _found(group).items() if entry.value == home), "")


def load_plugin(group: str, name: str, kind: type | None = None) -> Any:
    """Import a plug-in; it must be a subclass or an instance of `kind`, if given.

    Raises
    ------
    PluginError
        If several packages register the name, or the plug-in cannot be imported or is of another kind.
    """
    return _imported(group, name, _only_entry(group, name).load, kind)


def load_class(group: str, name: str, kind: type[T]) -> type[T]:
    """Import a plug-in that is a subclass of `kind` with all its methods; raises as `load_plugin` does."""
    plugin: Any = load_plugin(group, name, kind)
    missing = ", ".join(sorted(getattr(plugin, "__abstractmethods__", ())))
    if not isinstance(plugin, type) or missing:
        expected = f"a subclass of {kind.__name__} with all its methods"
        raise broken_contract(group, name, expected, f"no {missing}" if missing else repr(plugin))
    return plugin


def first_answer(
    group: str, ask: Callable[[Any], Any], kind: type | None, answer: type[T]
) -> tuple[T | None, PluginError | None]:
    """Ask the plug-ins of a group in turn: return the first answer that is not None, or the fault of one, if any.

    Those of other packages come first, for ours take what they can. What is broken is passed over, for the others work.
    """
    fault = None
    for name in sorted(plugin_names(group), key=lambda name: _is_ours(_found(group)[name][0])):
        try:
            plugin = load_plugin(group, name, kind)
            with blaming(group, name, "an answer"):
                reply = ask(plugin)
            if isinstance(reply, answer):
                return reply, None
            if reply is not None:
                raise broken_contract(group, name, f"a {answer.__name__} or None", repr(reply))
        except PluginError as broken:
            fault = fault or broken
    return None, fault


def broken_contract(group: str, name: str, expected: str, found: str) -> PluginError:
    """Return the error about a plug-in that does not do what it must."""
    entry = _only_entry(group, name)
    what = f"the {_title(entry)} of {_package(entry)} does not keep its contract"
    return PluginError(what, expected=expected, found=found, hint=_hint_about(entry))


@contextmanager
def blaming(group: str, name: str, expected: str) -> Iterator[None]:
    """Name the plug-in in what it raises, except errors for users; what is wrong in one of ours is a bug."""
    try:
        yield
    except (GraphPartError, OSError, MemoryError):
        raise
    except Exception as fault:  # a package of somebody else may raise anything
        if not name or _is_ours(_only_entry(group, name)):
            raise
        raise broken_contract(group, name, expected, f"{type(fault).__name__}: {fault}") from fault


def _only_entry(group: str, name: str) -> EntryPoint:
    if name not in _found(group):
        raise PluginError(f"no plug-in has the {group.removesuffix('s')} {name!r}", hint=WHERE_FROM)
    entry, *others = _found(group)[name]
    if others:
        packages = " and ".join(sorted(map(_package, (entry, *others))))
        raise PluginError(f"{packages} both register the {_title(entry)}", hint="uninstall one of them")
    return entry


def _imported(group: str, name: str, load: Callable[[], Any], kind: type | None) -> Any:
    try:
        plugin = load()
    except Exception as fault:  # a package of somebody else may raise anything
        entry, error = _only_entry(group, name), f"{type(fault).__name__}: {fault}"
        what = f"cannot import the {_title(entry)} of {_package(entry)}"
        raise PluginError(what, found=error, hint=_hint_about(entry)) from fault
    if kind is not None and not (issubclass(plugin, kind) if isinstance(plugin, type) else isinstance(plugin, kind)):
        raise broken_contract(group, name, f"a {kind.__name__}", repr(plugin))
    return plugin


def _hint_about(entry: EntryPoint) -> str:
    return f"update or uninstall {_package(entry).partition(' ')[0]}"


def _title(entry: EntryPoint) -> str:
    """What an entry registers, such as ``layout 'ranks'``."""
    return f"{entry.group.rpartition('.')[2].removesuffix('s')} {entry.name!r}"


def _is_ours(entry: EntryPoint) -> bool:
    return _package(entry).startswith("daskgraphpart ")


def _package(entry: EntryPoint) -> str:
    """Name and version of the package that registers a plug-in."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else entry.value
