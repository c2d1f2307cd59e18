"""Layouts, methods and readers by name: ours, and those that other packages register as entry points.

=========== ====================================================================================================
``readers`` a `graph.scan.Scan`, whose `open` says what it can read in place of a graph
``methods`` a `method.Method`, which ``--method NAME`` assigns by
``layouts`` a `layouts.layout.Layout`, which ``--layout NAME`` writes
=========== ====================================================================================================

Names are known without importing anything. Of two packages with one name the first counts: we, then by the name of the
package. A package that fails in any way is named once, in a warning, and passed over; one that was asked for by name is
an error.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeVar

from daskgraphpart.errors import GraphPartError, PluginError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from importlib.metadata import EntryPoint

logger = logging.getLogger(__name__)

T = TypeVar("T")
PACKAGE = "daskgraphpart"
BUILT_IN = {
    "layouts": {
        "ondisk": "daskgraphpart.array_layouts.ondisk:OnDiskLayout",
        "parquet": "daskgraphpart.array_layouts.parquet:ParquetLayout",
        "ranks": "daskgraphpart.array_layouts.ranks:RanksLayout",
    },
    "methods": {
        "random": "daskgraphpart.partitioner.own_methods:RandomMethod",
        **dict.fromkeys(
            ("auto", "fennel", "kaminpar", "metis", "multilevel"),
            "daskgraphpart.partitioner.own_methods:SolverMethod",
        ),
    },
    "readers": {
        "construction": "daskgraphpart.readers.construction.build:ConstructionScan",
        "metis": "daskgraphpart.readers.metis_files:MetisScan",
        "tables": "daskgraphpart.readers.tables.table_scan:TableScan",
    },
}
WHERE_FROM = "if another package has it, install that package"
SECONDS_TO_ANSWER = 30
"""Time in which a package of somebody else must be imported, or say whether it opens something."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A registered name, where its class is, and the package and version; those of ours are empty."""

    group: str
    name: str
    home: str
    package: str = ""

    @property
    def title(self) -> str:
        """What is registered, such as ``layout 'ranks' of some-package 1.0``."""
        return f"{self.group.removesuffix('s')} {self.name!r} of {self.package or PACKAGE}"

    @property
    def hint(self) -> str:
        """What to do about a fault."""
        return f"update or uninstall {self.package.partition(' ')[0] or PACKAGE}"


@cache
def _found(group: str) -> dict[str, Plugin]:
    from importlib.metadata import entry_points  # takes 25 ms, and much of it is not for plain imports

    known = {name: Plugin(group, name, home) for name, home in BUILT_IN[group].items()}
    for plugin in sorted(_of_others(group, entry_points(group=f"{PACKAGE}.{group}")), key=lambda each: each.package):
        first = known.setdefault(plugin.name, plugin)
        if first is not plugin:
            _warn(plugin, f"the {plugin.title} is not used: {first.package or PACKAGE} has one of that name")
    return dict(sorted(known.items()))


@cache
def warn_of_unknown_groups() -> None:
    """Name packages that register what we do not look for."""
    from importlib.metadata import entry_points

    for group in sorted(name for name in entry_points().groups if name.startswith(f"{PACKAGE}.")):
        kind = group.removeprefix(f"{PACKAGE}.")
        for plugin in _of_others(kind, entry_points(group=group)) if kind not in BUILT_IN else ():
            *most, last = BUILT_IN
            _warn(plugin, f"the {plugin.title} is not used: packages can add {', '.join(most)} and {last} only")


def _of_others(group: str, entries: Iterable[EntryPoint]) -> Iterator[Plugin]:
    """Yield what other packages register; an earlier version of ours may have left its own."""
    for entry in entries:
        if entry.dist is not None and entry.dist.name != PACKAGE:
            yield Plugin(group, entry.name, entry.value, f"{entry.dist.name} {entry.dist.version}")


@cache
def _warn(plugin: Plugin, text: str) -> None:
    """Warn once."""
    logger.warning("%s; %s", text, plugin.hint)


@cache
def plugin_names(group: str) -> tuple[str, ...]:
    """List the names that are registered in a group, sorted."""
    return tuple(_found(group))


def package_of(group: str, name: str) -> str:
    """Package and version that has a name; none if it is ours, or nobody's."""
    plugin = _found(group).get(name)
    return plugin.package if plugin else ""


def load_class(group: str, name: str, kind: type[T]) -> type[T]:
    """Import a subclass of `kind` with all its methods; raise a `PluginError` if it is not there, or fails."""
    if name not in _found(group):
        raise PluginError(f"no package has the {group.removesuffix('s')} {name!r}", hint=WHERE_FROM)
    plugin = _found(group)[name]
    loaded = _imported(plugin)
    if not (isinstance(loaded, type) and issubclass(loaded, kind)):
        raise _broken(plugin, f"a {kind.__name__}", repr(loaded))
    if missing := ", ".join(sorted(getattr(loaded, "__abstractmethods__", ()))):
        raise _broken(plugin, f"a subclass of {kind.__name__} with all its methods", f"no {missing}")
    return loaded


@cache
def _imported(plugin: Plugin) -> object:
    with _blaming(plugin, "", "cannot import the {}"):
        return resolve_name(plugin.home)


def first_answer(group: str, ask: Callable[[Any], Any], kind: type[T]) -> tuple[T | None, PluginError | None]:
    """Ask the classes of a group in turn: return the first answer that is not None, or the fault of one, if any.

    Those of other packages come first, for ours take what they can.
    """
    warn_of_unknown_groups()
    fault = None
    for plugin in sorted(_found(group).values(), key=lambda plugin: not plugin.package):
        try:
            loaded = load_class(group, plugin.name, kind)
            with _blaming(plugin, f"a {kind.__name__} or None"):
                reply = ask(loaded)
            if isinstance(reply, kind):
                return reply, None
            if reply is not None:
                raise _broken(plugin, f"a {kind.__name__} or None", repr(reply))
        except PluginError as broken:
            _warn(plugin, f"the {plugin.title} is passed over: {broken.found}")
            fault = fault or broken
    return None, fault


def broken_contract(group: str, name: str, expected: str, found: str) -> PluginError:
    """Return the error about a plug-in that does not do what it must."""
    return _broken(_found(group)[name], expected, found)


def blaming(group: str, home: type | str, expected: str) -> AbstractContextManager[None]:
    """Name the plug-in, given by name or class, in what it raises, except errors for users."""
    plugin = _found(group).get(home) if isinstance(home, str) else None
    if isinstance(home, type):
        where = f"{home.__module__}:{home.__qualname__}"
        plugin = next((each for each in _found(group).values() if each.home == where), None)
    return nullcontext() if plugin is None or not plugin.package else _blaming(plugin, expected, seconds=0)


def _broken(plugin: Plugin, expected: str, found: str) -> PluginError:
    what = f"the {plugin.title} does not keep its contract"
    return PluginError(what, expected=expected, found=found, hint=plugin.hint)


@contextmanager
def _blaming(
    plugin: Plugin, expected: str, what: str = "the {} does not keep its contract", seconds: int = SECONDS_TO_ANSWER
) -> Iterator[None]:
    """Turn whatever a package of somebody else raises, prints or waits for into an error that names it.

    Errors for users and those of the machine stay what they are while it works, which takes as long as it takes. What
    is wrong in ours is a bug.
    """
    if not plugin.package:
        yield
        return
    with redirect_stdout(sys.stderr), _interrupts_and_time(seconds) as is_users:
        try:
            yield
        except BaseException as fault:  # a package of somebody else may raise anything
            own = (GraphPartError,) if seconds else (GraphPartError, OSError)
            if isinstance(fault, own) or is_users():
                raise
            found = f"{type(fault).__name__}: {fault}"
            raise PluginError(
                what.format(plugin.title), expected=expected or None, found=found, hint=plugin.hint
            ) from fault


@contextmanager
def _interrupts_and_time(seconds: int) -> Iterator[Callable[[], bool]]:
    """Yield whether the user pressed Ctrl-C; raise a TimeoutError after some seconds, unless 0."""
    pressed: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.getsignal(signal.SIGINT)

    def press(number: int, frame: Any) -> None:
        pressed.append(number)
        (before if callable(before) else signal.default_int_handler)(number, frame)

    def end(*_: Any) -> None:
        raise TimeoutError(f"no answer for {seconds} s")

    alarm = signal.signal(signal.SIGALRM, end) if seconds else None
    if callable(before):
        signal.signal(signal.SIGINT, press)
    signal.alarm(seconds)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.alarm(0)
        if alarm is not None:
            signal.signal(signal.SIGALRM, alarm)
        if callable(before):
            signal.signal(signal.SIGINT, before)
