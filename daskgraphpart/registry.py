"""Find plug-ins by their entry points: ours, and those of other packages.

A package registers names in groups: ``daskgraphpart.scans`` and its kind, below. Names are known without importing
anything; a plug-in is imported when it is used.

================ ===============================================================================================
``scans``        a `chunked.scan.Scan`, whose `open` says what it can read in place of a graph;
                 that named ``changes`` makes the changes that read edges
``clusters``     `Clusters` on which tasks may run, in place of threads and processes here
``objects``      `Objects` that hold edges: arrays, frames, graphs of other libraries
``datasets``     a function that names the tables of a public data set in a directory: ``--from NAME``, and
                 `read_dataset`; it returns keywords of `read_tables`
``inputs``       `Inputs` of the command line
``layouts``      a `layouts.layout.Layout`, which ``--layout NAME`` writes
``arrangements`` a `layouts.dgl.DglArrangement`: a layout that has DGL's files in other places
``starts``       an `assignment.start.Start`, named ``extend``: it keeps the owners of an earlier graph
``owners``       a function that reads owners from files of a kind of its own, or returns None; it has the
                 arguments of `assignment.read_files.read_assignment`
``depots``       that named ``store`` opens a `storage.mounts.Depot` where ``--workspace`` is a URL
``owner_forms``  an `assignment.owner_forms.OwnerForm`: files of owners with this suffix
``destinations`` where files go that are not made in place: `dispatching.destination` has the names
``plans``        that named ``plan`` says what a job will take, as `api.forecast.announce` does
``commands``     a `Command` of the command line
``functions``    what ``daskgraphpart.NAME`` is; as ``CLASS.NAME``, a method of a public class and its subclasses
================ ===============================================================================================
"""

from __future__ import annotations

import pkgutil
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import MethodType
from typing import TYPE_CHECKING, Any, TypeVar

from daskgraphpart.errors import GraphPartError, PluginError
from daskgraphpart.keywords import check_keywords
from daskgraphpart.public import Public

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from importlib.metadata import EntryPoint

T = TypeVar("T")
WHERE_FROM = "if a plug-in has it, install the package of the plug-in; all of ours come with daskgraphpart"


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a plug-in, as known before it is imported."""

    summary: str  # for `daskgraphpart --help`
    home: str  # ``module:name`` of the click command
    after: str = ""  # the command that it follows in the help; default: all others


@dataclass(frozen=True, slots=True)
class Clusters:
    """Clusters of dask, as known before `distributed` is imported."""

    names: tuple[str, ...]  # words for ``--cluster``
    examples: str  # for the first sentence of its help
    summary: str  # for the others
    home: str
    """Module with `resolve_elsewhere`, which checks what users give, `active_client`, `cluster_size`, and
    `ClusterScheduler`, an `engine.runner.Scheduler`."""


NO_CLUSTERS = Clusters((), "or sync", "nothing else is installed here.", "")


@dataclass(frozen=True, slots=True, eq=False)
class Objects:
    """Objects that hold edges, which users may give in place of a graph."""

    kinds: str  # in words, for the error about others
    open: Callable[..., Any]
    """Takes an object, the job's `Resources`, and as keywords `name`, `num_nodes`, `node_data` and `edge_data`, which
    complete what the object says. Returns a `Graph`, or None of any other object."""


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """Options by which commands name what they read, in place of a chunked graph."""

    options: tuple[Any, ...]  # of click, as decorators
    names: tuple[str, ...]  # those that are not for chunked graphs
    is_given: Callable[[dict[str, Any]], bool]
    """Whether values of the options name a graph, so that the command takes no path of one."""
    scan_of: Callable[[str | None, dict[str, Any]], Any]
    """Return the scan of a path, or with None that of the options; None if the path is not for this plug-in."""


class WithPlugins(Public):
    """A public class to which plug-ins add methods: those registered as functions named ``CLASS.NAME``."""

    __slots__ = ()

    if not TYPE_CHECKING:  # a checker is told by a base class, and finds wrong names

        def __getattr__(self, name: str) -> Any:
            for kind in type(self).__mro__:
                if f"{kind.__name__}.{name}" in plugin_names("functions"):
                    return MethodType(_checked(f"{kind.__name__}.{name}"), self)
            what = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(what + _hint(name), name=name, obj=self)

        def __dir__(self) -> list[str]:
            kinds = {kind.__name__ for kind in type(self).__mro__}
            added = (name.rpartition(".") for name in plugin_names("functions"))
            return sorted([*super().__dir__(), *(method for kind, _, method in added if kind in kinds)])


@cache
def _checked(name: str) -> Callable[..., Any]:
    return check_keywords(load_plugin("functions", name))


def public_plugin(module: str, name: str) -> Any:
    """Return a function that a plug-in adds to a module; an AttributeError if there is none."""
    if "." not in name and name in plugin_names("functions"):
        return load_plugin("functions", name)
    raise AttributeError(f"module {module!r} has no attribute {name!r}" + _hint(name), name=name)


def _hint(name: str) -> str:
    return "" if name.startswith("_") else f"; {WHERE_FROM}"


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


def known_clusters() -> Clusters:
    """Return what is known of clusters without importing them; without a plug-in, none."""
    clusters: Clusters = load_plugin("clusters", "dask", Clusters) if plugin_names("clusters") else NO_CLUSTERS
    return clusters


def load_clusters() -> Any:
    """Import the module behind `Clusters`, which takes half a second.

    Raises
    ------
    PluginError
        If no plug-in has clusters, several have, or it cannot be imported.
    """
    home = load_plugin("clusters", "dask", Clusters).home
    return _imported("clusters", "dask", lambda: pkgutil.resolve_name(home), None)


def load_command(name: str, kind: type) -> Any:
    """Import the click command behind a `Command`, as `load_plugin` does."""
    home = load_plugin("commands", name, Command).home
    return _imported("commands", name, lambda: pkgutil.resolve_name(home), kind)


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
