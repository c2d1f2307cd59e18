"""Errors for users: one sentence says what is wrong and where, the next what to do.

As exit codes: 2 for a mistake in input or usage, 3 for a fault of the environment (disk full, a lost worker), after
which a rerun can succeed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from daskgraphpart.public import Public

__all__ = [
    "AssignmentError", "EnvironmentFaultError", "GraphPartError", "IdOutOfRangeError", "InputFileError",
    "InputFileNotFoundError", "KeywordError", "LayoutError", "MetadataError", "MissingPackageError", "OptionError",
    "OutputExistsError", "OutputLockedError", "PlanError", "PluginError", "ResumeError",
]  # fmt: skip

LONGEST_VALUE, MOST_LISTED = 600, 30
_OPTION = re.compile(r"`[^`]*`|--([a-z]+(?:-[a-z]+)*)")
_ENDS = (".", "?", "!")
_WORD = re.compile(r"[a-z][a-z-]*(?=[ ,;]|$)")
_SWITCHES = (
    "copy-edge-data", "fill-parts", "header", "map-ids", "overwrite", "recursive", "refine", "restart",
)  # fmt: skip
_KEYWORDS = {"no-header": "header=False", "no-map-ids": "map_ids=False"}
_SINGULAR = {"masks": "--mask", "method_options": "--method-option"}
_FIELDS = ("what", "file", "place", "option", "expected", "found", "hint")
ErrorT = TypeVar("ErrorT", bound="GraphPartError")


def __dir__() -> list[str]:
    return __all__


def printable(text: str) -> str:
    """Escape control characters and lone surrogates, but not newlines."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


class GraphPartError(Public, Exception):
    """Base class of all errors that daskgraphpart raises on purpose. `exit_code` is that of the command line.

    Parameters
    ----------
    what : str
        What is wrong, in a few words or a sentence with the user's values.
    file : path or URL, optional
        File or directory with the fault.
    place : str, optional
        Key, row, line or byte in the file, or part of an option's value. Left out if `what` names it.
    option : str, optional
        The keyword at fault, such as ``map_ids``; the command line shows its option.
    expected, found : object, optional
        Expected and actual value.
    hint : str, optional
        What to do, with options spelled as on the command line. In Python, messages show keywords instead, except in
        commands in backticks.
    """

    exit_code = 2
    listed: tuple[GraphPartError, ...] = ()  # if it stands for several
    __all__ = (
        "add_note", "args", "exit_code", "expected", "file", "found", "hint", "kind", "listed", "option", "place",
        "what", "with_traceback",
    )  # fmt: skip

    def __init__(
        self,
        what: str,
        *,
        file: object = None,
        place: str | None = None,
        option: str | None = None,
        expected: object = None,
        found: object = None,
        hint: str | None = None,
    ) -> None:
        if option is None and (place or "").startswith("--"):  # by functions that take any place
            flag, _, place = (place or "").partition(" ")
            option = keyword_of(flag)
        self.what, self.place, self.option = what, place or None, option
        self.file = None if file is None else str(file)
        self.expected, self.found, self.hint = expected, found, hint
        super().__init__(self._message(_keywords, str))

    @property
    def kind(self) -> str:
        """Name of the public class, which the page Troubleshooting explains."""
        return next(kind.__name__ for kind in type(self).__mro__ if kind.__name__ in __all__)

    def for_command_line(self) -> str:
        """Message with options spelled as on the command line."""
        return self._message(str, option_name)

    def _message(self, spelled: Callable[[str], str], name: Callable[[str], str]) -> str:
        named, shown = (
            " ".join(filter(None, [self.option and way(self.option), self.place])) for way in (option_name, name)
        )
        where = ", ".join(filter(None, [self.file, "" if named in self.what else shown]))
        text = f"{where}: {spelled(self.what)}" if where else spelled(_begin_sentence(self.what))
        details = [] if self.expected is None else [f"expected {_shortened(self.expected)}"]
        if self.found is not None:
            details.append(f"{'found ' if details else ''}{_shortened(self.found)}")
        if details:
            text += f": {', '.join(details)}"
        if self.hint:
            between = "\n" if "\n" in text else " " if text.endswith(_ENDS) else ". "
            text += between + write_sentences([spelled(self.hint)])
        return printable(text)  # may quote damaged files

    def add_hint(self, hint: str) -> None:
        """Add a sentence on what to do."""
        self.hint = write_sentences([self.hint, hint]) if self.hint else hint
        self.args = (self._message(_keywords, str),)

    def restated(self, kind: type[ErrorT], **changes: Any) -> ErrorT:
        """Return a copy of another kind, with changes."""
        return kind(**{name: getattr(self, name) for name in _FIELDS} | changes)

    def __reduce__(self) -> tuple[Any, ...]:
        # the default pickling of exceptions loses keyword-only arguments
        return _rebuild, (type(self), {name: getattr(self, name) for name in _FIELDS})


def write_sentences(hints: Iterable[str]) -> str:
    """Join hints, each as a sentence."""
    begun = (_begin_sentence(hint) for hint in hints)
    return " ".join(text if text.endswith(_ENDS) else f"{text}." for text in begun)


def _begin_sentence(text: str) -> str:
    """Begin with a capital, unless the first word is a name."""
    return text[:1].upper() + text[1:] if _WORD.match(text) else text


@cache
def option_name(keyword: str) -> str:
    """Name of an option on the command line."""
    return _SINGULAR.get(keyword, f"--{keyword.replace('_', '-')}")


def keyword_of(option: str) -> str:
    """Keyword of an option of the command line."""
    return next((name for name, of in _SINGULAR.items() if of == option), option.removeprefix("--").replace("-", "_"))


def _keywords(text: str) -> str:
    """Turn the options that a sentence of ours names into Python's keywords, but not those of commands in backticks."""

    def keyword(option: re.Match[str]) -> str:
        if option[1] is None:
            return option[0]
        name = _KEYWORDS.get(option[1], option[1].replace("-", "_"))
        return f"{name}=True" if option[1] in _SWITCHES else name

    return _OPTION.sub(keyword, text)


def _shortened(value: object) -> str:
    """Turn a value into text that fits on a screen."""
    text = str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE // 2]} ... {text[-LONGEST_VALUE // 2 :]}"


def _rebuild(kind: type[GraphPartError], fields: dict[str, Any]) -> GraphPartError:
    return kind(**fields)


class MetadataError(GraphPartError, ValueError):
    """The metadata of a chunked graph is invalid; the place is the key."""


class InputFileError(GraphPartError, ValueError):
    """A data file contradicts the metadata; the place is the row."""


class InputFileNotFoundError(InputFileError, FileNotFoundError):
    """An input file or directory does not exist."""


class AssignmentError(GraphPartError, ValueError):
    """An assignment of nodes to parts does not fit the graph."""


class OptionError(GraphPartError, ValueError):
    """An option has an invalid value."""


def check_choice(what: str, place: str | None, given: str, choices: Collection[str], hint: str | None = None) -> None:
    """Raise an error for a value that is none of the choices; the hint comes after them."""
    if given not in choices:
        words = (place or "").removeprefix("--").replace("-", " ")
        says_place = bool(words) and what.startswith(words)
        hint = write_sentences([choose_from(choices, given), *([hint] if hint else [])])
        raise OptionError(f"unknown {what} {str(given)!r}", place=None if says_place else place, hint=hint)


def choose_from(choices: Collection[str], given: object = "") -> str:
    """Return a hint that lists the choices, and names the one that was probably meant."""
    meant = did_you_mean(str(given), choices)
    listed = ", ".join([*choices][:MOST_LISTED]) + (", ..." if len(choices) > MOST_LISTED else "")
    return f"{meant}{' ' * bool(meant)}{f'Choose from {listed}' if choices else 'There are none'}"


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Name the closest of the known names; nothing if none is close."""
    near = get_close_matches(given, known, 1)
    return f"did you mean {near[0]}?" if near else ""


def attribute_finder(module: str, known: Iterable[str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module, for names that it has not: an error with the nearest it has."""

    def find(name: str) -> Any:
        meant = did_you_mean(name, known)
        raise AttributeError(f"module {module!r} has no attribute {name!r}{'; ' * bool(meant)}{meant}", name=name)

    return find


@contextmanager
def collect_fault(faults: list[GraphPartError]) -> Iterator[None]:
    """Add a fault of the input, or those that it lists, to the ones found before; raise faults of the machine."""
    try:
        yield
    except (InputFileError, OptionError) as fault:
        faults += fault.listed or [fault]


def raise_together(faults: Iterable[GraphPartError], file: object = None) -> None:
    """Raise one error, or several as a list, each once, with their hints at the end; `file` is the one with all."""
    faults = tuple({str(fault): fault for fault in faults}.values())
    if len(faults) == 1 and file is None:
        raise faults[0]
    for fault in faults if len(faults) == 1 else ():
        raise fault.restated(type(fault), file=file, place=", ".join(filter(None, [fault.place, fault.file])))
    if not faults:
        return
    listed = [fault.restated(type(fault), hint=None).for_command_line() for fault in faults[:MOST_LISTED]]
    more = [f"and {len(faults) - MOST_LISTED} more"] if len(faults) > MOST_LISTED else []
    hints = write_sentences(dict.fromkeys(fault.hint for fault in faults if fault.hint))
    kinds = (InputFileNotFoundError, OptionError, MetadataError)
    same = next((kind for kind in kinds if all(isinstance(fault, kind) for fault in faults)), InputFileError)
    what = f"{len(faults)} things are wrong:" + "".join(f"\n  {line}" for line in [*listed, *more])
    error = (same if file is None else MetadataError)(what, file=file, hint=hints)
    error.listed = faults
    raise error


class KeywordError(OptionError, TypeError):
    """A function has no such keyword; the hint names the closest."""


class IdOutOfRangeError(GraphPartError, IndexError):
    """The graph has no such ID, part or type."""


class PlanError(GraphPartError, ValueError, MemoryError):
    """The memory or disk is too small for the job; the hint names the smallest that works."""


class LayoutError(GraphPartError, ValueError):
    """A file of the DGL partition layout is truncated, of another version, or inconsistent."""


class OutputExistsError(GraphPartError, FileExistsError):
    """The output directory already holds output."""


class MissingPackageError(GraphPartError, ImportError):
    """A required optional package is not installed; the hint names the extra."""


class PluginError(GraphPartError, ImportError):
    """A plug-in of another package cannot be used; the message names the package and its version."""


class EnvironmentFaultError(GraphPartError, OSError):
    """The machine, not the input, failed: disk full, permission, a lost worker."""

    exit_code = 3


class OutputLockedError(EnvironmentFaultError):
    """Another run is writing to the output directory."""


class ResumeError(GraphPartError, ValueError):
    """An unfinished run cannot resume: its input, options or files have changed."""


if not TYPE_CHECKING:
    __getattr__ = attribute_finder(__name__, __all__)
