"""Hooks of mkdocs: pages of notebooks and of the reference, the address of the repository, how to install."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File

sys.path.append(str(Path(__file__).parent))
from reference_pages import (
    SECTIONS,
    command_page,
    command_uri,
    commands,
    contents,
    entries,
    nav,
    table_of_commands,
)

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ON_PYPI = PROJECT["tool"]["daskgraphpart"]["on-pypi"]


def on_config(config: Any) -> Any:
    """Link to the repository, once it has an address, and to each page of the reference."""
    address = PROJECT["project"]["urls"]["Repository"]
    if ".invalid/" not in address:
        config.repo_url = address
    (reference,) = (part["Reference"] for part in config.nav if "Reference" in part)
    below = nav()
    reference[:] = [{title: below.get(page, page)} for of in reference for title, page in of.items()]
    return config


def description(markdown: str) -> str:
    """The first paragraph of a page as plain text, for search engines."""
    text = re.sub(r"^---\n.*?\n---\n|<!--.*?-->|<[^>]*>", "", markdown, flags=re.DOTALL)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)(?:\{[^}]*\})?", r"\1", text)
    paragraphs = [" ".join(of.split()) for of in text.split("\n\n") if of.strip()]
    plain = [of for of in paragraphs if not of.startswith(("#", "```", "|", ":::", "-", "==="))]
    return re.sub(r"[`*]", "", plain[0]) if plain else ""


def installed(text: str, on_pypi: bool) -> str:
    """A page whose commands install a clone, or what is on PyPI."""
    if not on_pypi:
        return text
    text = text.replace("pip install .", "pip install daskgraphpart")
    text = re.sub(r'(pip install \\?")\.(\[[\w,]+\])', r"\1daskgraphpart\2", text)
    return re.sub(r" +# in a clone[\w ]*| in a clone", "", text)


@event_priority(100)  # before the plugin that makes pages of them
def on_files(files: Any, config: Any) -> Any:
    """Add the notebooks, which lie beside the docs, and the pages of the reference."""
    for path in sorted(ROOT.glob("notebooks/*.ipynb")):
        name = str(path.relative_to(ROOT))
        files.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    for name in ("CHANGELOG", "CONTRIBUTING"):
        text = (ROOT / f"{name}.md").read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, f"{name.lower()}.md", content=text))
    for section in SECTIONS:
        for entry in entries(section):
            files.append(File.generated(config, entry.uri, content=entry.page))
    for ctx in commands():
        files.append(File.generated(config, command_uri(ctx), content=command_page(ctx)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Add tables of what there is to the first pages of the reference."""
    is_notebook = page.file.src_uri.endswith(".ipynb")
    text = "".join(json.loads(markdown)["cells"][0]["source"]) if is_notebook else markdown
    page.meta.setdefault("description", description(text))
    section = page.file.src_uri.removeprefix("reference/").removesuffix(".md")
    if section in SECTIONS and page.file.src_uri == f"reference/{section}.md":
        return contents(section, markdown)
    return installed(markdown + (f"\n\n{table_of_commands()}" if section == "cli" else ""), ON_PYPI)
