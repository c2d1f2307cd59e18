"""Configuration files: TOML with a table for every command, whose keys are the long names of its options.

The file is the one given to ``--config``, or ``daskgraphpart.toml`` in the working directory, or
``daskgraphpart/config.toml`` in ``$XDG_CONFIG_HOME`` (``~/.config``); the first that is there. Options that all
commands share (memory, workers, log-level, ...) may stand at the top, for all commands. The command line wins, then the
table of the command, then the top. Everything in the file is checked, also what is for other commands.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from daskgraphpart.cli.dgl_flags import DglOption
from daskgraphpart.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LOCAL_NAME = "daskgraphpart.toml"
USER_NAME = "daskgraphpart/config.toml"


def find_config() -> Path | None:
    """Return the configuration file that is used if none is given."""
    home = os.environ.get("XDG_CONFIG_HOME", "")
    # relative paths are to be ignored: XDG Base Directory Specification 0.8
    base = Path(home) if Path(home).is_absolute() else Path("~/.config").expanduser()
    return next((path for path in (Path(LOCAL_NAME), base / USER_NAME) if path.is_file()), None)


def read_config(path: Path, group: click.Group, shared: Iterable[click.Option]) -> dict[str, Any]:
    """Read a configuration file into what click calls a default map: values by command and parameter.

    Parameters
    ----------
    path : Path
        The file.
    group : click.Group
        All commands.
    shared : iterable of click.Option
        Options whose names may stand at the top.

    Returns
    -------
    dict
        For each command in the file the values of its parameters by name; of a group of commands, one more level. The
        key ``""`` has the values for all commands.

    Raises
    ------
    OptionError
        If it is no TOML, or has a key or a value it cannot have.
    """
    content = _parse(path)
    tables = {key: value for key, value in content.items() if isinstance(value, dict)}
    top = {key: value for key, value in content.items() if key not in tables}
    return {"": _values(path, "top", top, list(shared))} | _tables(path, (), tables, group)


def with_shared(values: Mapping[str, Any], shared: Mapping[str, Any], command: click.Command) -> dict[str, Any]:
    """Values of one command, or of a group of commands, with those for all commands below them."""
    if isinstance(command, click.Group):
        return {name: with_shared(values.get(name, {}), shared, inner) for name, inner in command.commands.items()}
    own = {param.name for param in command.params}
    return {name: value for name, value in shared.items() if name in own} | dict(values)


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as fault:
        raise OptionError("the configuration cannot be read", file=str(path), found=fault.strerror) from fault
    except ValueError as fault:  # neither UTF-8 nor TOML
        raise OptionError("not a TOML file", file=str(path), found=str(fault)) from fault


def _tables(path: Path, where: tuple[str, ...], tables: Mapping[str, Any], group: click.Group) -> dict[str, Any]:
    """Values of commands, and of groups of commands."""
    ctx = click.Context(group)
    found: dict[str, Any] = {}
    for name, table in tables.items():
        command = group.get_command(ctx, name)
        place = f"[{'.'.join((*where, name))}]"
        if command is None or not isinstance(table, dict):
            known = ", ".join(group.list_commands(ctx))
            raise OptionError("no such command", file=str(path), place=place, expected=f"one of {known}")
        if isinstance(command, click.Group):
            found[name] = _tables(path, (*where, name), table, command)
        else:
            options = [param for param in command.params if isinstance(param, click.Option)]
            found[name] = _values(path, place, table, options)
    return found


def _values(path: Path, place: str, table: Mapping[str, Any], options: list[click.Option]) -> dict[str, Any]:
    """Values of one table, by the names of parameters."""
    known: dict[str, click.Option] = {}
    first_names: list[str] = []
    for option in options:
        if isinstance(option, DglOption):
            continue
        names = [name[2:].replace("_", "-") for name in option.opts if name.startswith("--")]
        known.update(dict.fromkeys(names, option))
        first_names += names[:1]
    found: dict[str, Any] = {}
    for key, value in table.items():
        chosen = known.get(key.replace("_", "-"))
        if chosen is None or chosen.name is None:
            raise OptionError(
                "unknown key", file=str(path), place=place, expected=f"one of {', '.join(first_names)}", found=key
            )
        found[chosen.name] = _value(path, f"{place} {key}", value, chosen)
    return found


def _value(path: Path, place: str, value: Any, option: click.Option) -> Any:
    """Value as the command line would have it."""
    items = value if isinstance(value, list) else [value]
    if option.is_flag:
        if not isinstance(value, bool):
            raise OptionError("not a switch", file=str(path), place=place, expected="true or false", found=value)
        return value
    for item in items:
        if isinstance(item, bool) or not isinstance(item, str | int | float):
            raise OptionError("not a value", file=str(path), place=place, expected="text or a number", found=item)
    texts = [str(item) for item in items]
    # lists are lists of options that may be repeated, and otherwise what the command line has with commas
    return texts if option.multiple else ",".join(texts)
