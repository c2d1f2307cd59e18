"""Make the pages of the reference: one for each function and class that its sections list, one for each command.

The Markdown of a section, such as docs/reference/make.md, is its first page: its text, and a table of what it lists.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from inspect import getdoc, isclass
from pathlib import Path
from pydoc import locate
from typing import TYPE_CHECKING, Any

import click
from reference_page import is_method

from daskgraphpart.cli.help import EVERYTHING, OPTIONS
from daskgraphpart.cli.main import group

if TYPE_CHECKING:
    from collections.abc import Iterator

REFERENCE = Path(__file__).parent / "reference"
SECTIONS = ("make", "read", "ids", "chunked")
ENTRY = re.compile(r"^::: (\S+)\n(?:    .*\n|\n(?=    ))*", re.MULTILINE)
METHODS_OF = {"pyg_methods.to_pyg": "Part", "owned_to_original": "Part", "hot_rows": "Part", "write_chunked": "Graph"}
"""Classes of functions that are methods, where it is not `PartitionedGraph`."""


@dataclass(frozen=True)
class Entry:
    """A function or a class of a section: its name in Python, and its block of Markdown."""

    path: str
    block: str

    @property
    def owner(self) -> str:
        """The class that has it."""
        return next((kind for end, kind in METHODS_OF.items() if self.path.endswith(end)), "PartitionedGraph")

    @property
    def name(self) -> str:
        """What readers call it."""
        last = self.path.rpartition(".")[2].replace("owned_to_original", "to_original")
        return f"{self.owner}.{last}" if is_method(self.path) else last

    @property
    def uri(self) -> str:
        """Its page; names of classes and of functions may differ in their case alone."""
        return f"reference/{'classes/' * isclass(locate(self.path))}{self.name}.md"

    @property
    def title(self) -> str:
        """What the menu calls it: a method stands below its class."""
        return self.name.replace(f"{self.owner}.", ".") if is_method(self.path) else self.name

    @property
    def page(self) -> str:
        """Its Markdown, as the only entry of a page."""
        options = f"    options:\n      heading: {self.name}\n      heading_level: 1\n"
        given = f"{self.block.rstrip()}\n".partition("    options:\n")[2]
        return f"{front_matter(self.name, first_sentence(self.path))}::: {self.path}\n{options}{given}"


def entries(section: str) -> list[Entry]:
    """What a section lists."""
    text = (REFERENCE / f"{section}.md").read_text(encoding="utf-8") + "\n"
    return [Entry(found[1], found[0]) for found in ENTRY.finditer(text)]


def contents(section: str, markdown: str) -> str:
    """The first page of a section: a table in the place of its entries."""
    listed = entries(section)
    rows = "\n".join(
        f"| [`{of.name}`]({of.uri.removeprefix('reference/')}) | {first_sentence(of.path)} |" for of in listed
    )
    table = f"<div class='overview stacked' markdown>\n\n| name | what it is |\n|---|---|\n{rows}\n\n</div>\n"
    return ENTRY.sub("", markdown + "\n").rstrip() + f"\n\n{table}"


def front_matter(title: str, description: str) -> str:
    """What a page says of itself to browsers and search engines."""
    return f"---\ntitle: {json.dumps(title)}\ndescription: {json.dumps(description)}\n---\n\n"


def first_sentence(name: str) -> str:
    """What the docstring of an object begins with."""
    first = (getdoc(locate(name)) or "").partition("\n\n")[0]
    return " ".join(first.split()).replace("|", "\\|")


def commands() -> Iterator[click.Context]:
    """Every command, as it is called."""
    yield from _commands(_context(group, "daskgraphpart"))


def _commands(ctx: click.Context) -> Iterator[click.Context]:
    yield ctx
    if isinstance(ctx.command, click.Group):
        for name in ctx.command.list_commands(ctx):
            command = ctx.command.get_command(ctx, name)
            assert command is not None
            yield from _commands(_context(command, name, ctx))


def _context(command: click.Command, name: str, parent: click.Context | None = None) -> click.Context:
    ctx = click.Context(command, parent, name, terminal_width=110, **command.context_settings)
    ctx.meta[EVERYTHING] = True
    return ctx


def command_uri(ctx: click.Context) -> str:
    """The page of a command."""
    return f"reference/cli/{ctx.command_path.partition(' ')[2].replace(' ', '_') or 'daskgraphpart'}.md"


def command_page(ctx: click.Context) -> str:
    """What `--help-all` shows, in tables with an anchor for each option."""
    formatter = ctx.make_formatter()
    ctx.command.format_help_text(ctx, formatter)
    about = re.sub(r"^  ", "", formatter.getvalue().strip("\n"), flags=re.MULTILINE)
    lines = [f"{front_matter(ctx.command_path, summary(ctx))}# {ctx.command_path}"]
    lines += [f"```text\n{ctx.command.get_usage(ctx)}\n\n{about}\n```"]
    for heading, rows in options(ctx).items():
        lines += [f"## {heading}", "<div class='overview stacked' markdown>", "| option | what it does |\n|---|---|"]
        lines[-1] += "".join(f"\n| {option} | {meaning} |" for option, meaning in rows)
        lines += ["</div>"]
    return "\n\n".join(lines) + "\n"


def options(ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
    """Options and what they do, by heading, each with an anchor."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for param in ctx.command.get_params(ctx):
        record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
        if record is not None:
            names, meaning = re.sub("INTEGER( RANGE)?", "N", record[0]), re.sub(r"  \[x>=\d+\]", "", record[1])
            anchor = param.opts[-1].lstrip("-")
            option = f"`{names}`{{#{anchor}}}"
            text = meaning.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")
            sections.setdefault(getattr(param, "heading", OPTIONS), []).append((option, " ".join(text.split())))
    return sections


def summary(ctx: click.Context) -> str:
    """The first sentence of a command's help."""
    return " ".join(ctx.command.get_short_help_str(200).split()).replace("|", "\\|")


def table_of_commands() -> str:
    """A table of all commands, with links."""
    rows = "\n".join(
        f"| [`{of.command_path}`]({command_uri(of)[len('reference/') :]}) | {summary(of)} |" for of in commands()
    )
    return f"<div class='overview stacked' markdown>\n\n| command | what it does |\n|---|---|\n{rows}\n\n</div>\n"


def nav() -> dict[str, list[Any]]:
    """What the menu has in the place of a page that begins a section: this page, and those of its entries."""
    found: dict[str, list[Any]] = {}
    for section in SECTIONS:
        found[f"reference/{section}.md"] = [{of.title: of.uri} for of in entries(section)]
    found["reference/cli.md"] = [
        {of.command_path.partition(" ")[2] or of.command_path: command_uri(of)} for of in commands()
    ]
    return {page: [{"Overview": page}, *below] for page, below in found.items()}
