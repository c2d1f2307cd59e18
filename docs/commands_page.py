"""Hooks of mkdocs: pages of notebooks, of what `--help-all` shows, and an overview of each page of the reference."""

from __future__ import annotations

import re
import tomllib
from inspect import getdoc
from pathlib import Path
from pydoc import locate
from typing import TYPE_CHECKING, Any

import click
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File

from daskgraphpart.cli.help import full_help
from daskgraphpart.cli.main import group

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTH = 110
FEWEST_IN_AN_OVERVIEW = 4

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ON_PYPI = PROJECT["tool"]["daskgraphpart"]["on-pypi"]


def on_config(config: Any) -> Any:
    """Link to the repository, once it has an address."""
    address = PROJECT["project"]["urls"]["Repository"]
    if ".invalid/" not in address:
        config.repo_url = address
    return config


def installed(text: str, on_pypi: bool) -> str:
    """A page whose commands install a clone, or what is on PyPI."""
    if not on_pypi:
        return text
    text = text.replace("pip install .", "pip install daskgraphpart")
    text = re.sub(r'(pip install \\?")\.(\[[\w,]+\])', r"\1daskgraphpart\2", text)
    return re.sub(r" +# in a clone[\w ]*| in a clone", "", text)


@event_priority(100)  # before the plugin that makes pages of them
def on_files(files: Any, config: Any) -> Any:
    """Add the notebooks, which lie beside the docs."""
    for path in sorted(ROOT.glob("notebooks/*.ipynb")):
        name = str(path.relative_to(ROOT))
        files.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Add the commands to their page, and an overview to a page of functions and classes."""
    markdown = overview(installed(markdown, ON_PYPI))
    return markdown + "".join(sections()) if page.file.src_uri == "reference/cli.md" else markdown


def overview(markdown: str) -> str:
    """A page with a table of what it documents above the first entry, if these are several."""
    names = re.findall(r"^::: (\S+)$", markdown, re.MULTILINE)
    if len(names) < FEWEST_IN_AN_OVERVIEW:
        return markdown
    rows = "\n".join(f"| [`{name.rpartition('.')[2]}`](#{name}) | {first_sentence(name)} |" for name in names)
    head, entry, rest = markdown.partition("\n::: ")
    table = f"<div class='overview stacked' markdown>\n\n| name | what it is |\n|---|---|\n{rows}\n\n</div>"
    return f"{head}\n{table}\n{entry}{rest}"


def first_sentence(name: str) -> str:
    """What the docstring of an object begins with."""
    first = (getdoc(locate(name)) or "").partition("\n\n")[0]
    return " ".join(first.split()).replace("|", "\\|")


def sections() -> Iterator[str]:
    """A heading and the help of every command."""
    yield from _sections(_context(group, "daskgraphpart"))


def _sections(ctx: click.Context) -> Iterator[str]:
    yield f"\n## {ctx.command_path}\n\n```text\n{full_help(ctx)}\n```\n"
    if isinstance(ctx.command, click.Group):
        for name in ctx.command.list_commands(ctx):
            command = ctx.command.get_command(ctx, name)
            assert command is not None
            yield from _sections(_context(command, name, ctx))


def _context(command: click.Command, name: str, parent: click.Context | None = None) -> click.Context:
    return click.Context(command, parent, name, terminal_width=WIDTH, **command.context_settings)
