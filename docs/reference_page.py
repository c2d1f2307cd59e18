"""Extension of mkdocstrings: fields by their comments, parameters in the groups of the command line."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass
from pydoc import locate
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import click
import griffe

import daskgraphpart
from daskgraphpart.cli.main import group
from daskgraphpart.dispatching.dispatch_options import DispatchOptions
from daskgraphpart.engine.resources import Resources
from daskgraphpart.jobs.job_options import JobOptions
from daskgraphpart.options import stated_options
from daskgraphpart.partitioner.assign_options import AssignOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def read_headings() -> dict[str, str]:
    """Heading of each parameter: that of the option of `partition` on the command line."""
    command = group.get_command(click.Context(group), "partition")
    assert command is not None
    headings = {param.name: param.heading for param in command.params if hasattr(param, "heading") and param.name}
    classes = {AssignOptions: "Method", DispatchOptions: "Output", Resources: "Resources", JobOptions: "Progress"}
    # those in a mapping are options of their own on the command line
    return {name: heading for of, heading in classes.items() for name in stated_options(of)} | headings


HEADINGS = read_headings()
GROUPS = ["Parameters", *dict.fromkeys(HEADINGS.values())]
MOST_IN_A_TABLE = 20
ELSEWHERE = re.compile(r"As in `(\w+)`\.")
"""Description of a parameter that another function describes."""
HAS_SECTIONS = re.compile(r"^-{3,}$", re.MULTILINE)
PARAMETERS_OR_ATTRIBUTES = (griffe.DocstringSectionParameters, griffe.DocstringSectionAttributes)


class ReferencePage(griffe.Extension):
    """Show what the project wrote: no docstrings of Python's own types, no text that is taken for a tag."""

    def on_attribute(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Drop the docstring that an attribute has from the type of its value."""
        if "property" not in attr.labels:
            attr.docstring = None

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Group the parameters of a function; a method is shown without the object that it is called on."""
        if is_method(func.path):
            del func.parameters[next(iter(func.parameters)).name]
        if func.docstring is not None and HAS_SECTIONS.search(func.docstring.value):
            rewrite(func.docstring, {of.name: of.default for of in func.parameters})

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """List the fields of a class with their comments, before its examples."""
        kind = locate(cls.path)
        if cls.docstring is None or not isinstance(kind, type):
            return
        if issubclass(kind, Exception):
            cls.bases = [base.__name__ for base in kind.__bases__]
        cls.bases = [base for base in cls.bases if str(base).rpartition(".")[2] not in ("Public", "WithPlugins")]
        rewrite(cls.docstring, {})
        sections = cls.docstring.parsed
        described = [of for found in sections if isinstance(found, PARAMETERS_OR_ATTRIBUTES) for of in found.value]
        names = {name.strip() for of in described for name in of.name.split(",")}
        fields = [
            griffe.DocstringAttribute(name, annotation=of.annotation, description=without_tags(of.comment))
            for name, of in commented_fields(kind).items()
            if of.comment and name not in names
        ]
        if fields:
            first = next((i for i, of in enumerate(sections) if of.kind.value == "examples"), len(sections))
            sections.insert(first, griffe.DocstringSectionAttributes(fields))


def is_method(path: str) -> bool:
    """Whether a function is called as a method of a class that is elsewhere."""
    return ".methods." in path


@dataclass(frozen=True)
class Field:
    """A field of a class as its source has it: the annotation, and the comment beside or above it."""

    annotation: str
    comment: str


def commented_fields(kind: type) -> dict[str, Field]:
    """Public fields of a class of ours and of its bases."""
    found, listed = {}, getattr(kind, "__all__", ())
    for base in reversed(kind.__mro__):
        if not base.__module__.startswith("daskgraphpart"):
            continue
        source = dedent(inspect.getsource(base))
        lines, (tree,) = source.splitlines(), ast.parse(source).body
        assert isinstance(tree, ast.ClassDef)
        for node in tree.body:
            if not isinstance(node, ast.AnnAssign) or (name := ast.unparse(node.target)).startswith("_"):
                continue
            if not listed or name in listed:
                found[name] = Field(ast.unparse(node.annotation), comment_of(node, lines))
    return found


def comment_of(node: ast.stmt, lines: list[str]) -> str:
    """The comment at the end of a statement, or that in the lines above it, as a sentence."""
    text = lines[(node.end_lineno or node.lineno) - 1][node.end_col_offset :].strip().removeprefix("#")
    for line in reversed(lines[: node.lineno - 1] if not text else []):
        if not line.strip().startswith("#"):
            break
        text = f"{line.strip()[1:]}{text}"
    text = text.strip()
    return f"{text[:1].upper()}{text[1:]}{'.' if text else ''}"


def rewrite(docstring: griffe.Docstring, defaults: Mapping[str, Any]) -> None:
    """Parse a docstring, and change its sections."""
    sections: list[griffe.DocstringSection] = []
    for section in docstring.parsed:
        if isinstance(section, PARAMETERS_OR_ATTRIBUTES):
            for element in section.value:
                element.description = without_tags(element.description)
                element.annotation = plain_type(element.annotation)
                element.value = defaults.get(element.name, element.value)  # griffe has one for all names of an entry
        sections += grouped(section.value) if isinstance(section, griffe.DocstringSectionParameters) else [section]
    docstring.__dict__["parsed"] = sections  # where griffe keeps what it has parsed


def plain_type(annotation: Any) -> Any:
    """The type of a parameter in words: `"cut" or "vol"`, `path`; all else as it is, with its links."""
    text = str(annotation)
    if found := re.fullmatch(r"Literal\[(.*)\]", text):
        return " or ".join(f'"{word.strip(chr(39) + chr(34))}"' for word in found[1].split(", "))
    return (
        text.replace("os.PathLike[str]", "path").replace("PathLike[str]", "path") if "PathLike" in text else annotation
    )


def without_tags(text: str) -> str:
    """Markdown whose words in angle brackets are no tags."""
    return re.sub(r"`[^`]*`|<", lambda found: "&lt;" if found[0] == "<" else found[0], text)


def grouped(parameters: list[griffe.DocstringParameter]) -> Iterator[griffe.DocstringSection]:
    """Parameters in a table, or one for each group of options; then those that another function describes."""
    elsewhere: dict[str, list[str]] = {}
    described = []
    for of in parameters:
        if found := ELSEWHERE.fullmatch(of.description):
            elsewhere.setdefault(found[1], []).append(f"`{of.name}`")
        else:
            described.append(of)
    groups: dict[str, list[griffe.DocstringParameter]] = {name: [] for name in GROUPS}
    for of in described:
        groups[HEADINGS.get(of.name, GROUPS[0]) if len(described) > MOST_IN_A_TABLE else GROUPS[0]].append(of)
    for name, of_group in groups.items():
        if of_group:
            yield griffe.DocstringSectionParameters(of_group, title=f"{name}:")
    for function, names in elsewhere.items():
        link = f"[`{function}`][daskgraphpart.{function}]" if hasattr(daskgraphpart, function) else f"`{function}`"
        yield griffe.DocstringSectionText(f"As in {link}: {', '.join(names)}.")
