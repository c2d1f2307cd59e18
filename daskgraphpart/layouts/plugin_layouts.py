"""Layouts of plug-ins, held to their contract: a fault is an error that names the package.

`PluginLayout` stands between dispatch and a plug-in's layout, so that nothing else has to ask whose a layout is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import OptionError
from daskgraphpart.layouts.known_outputs import description_of
from daskgraphpart.layouts.layout import DispatchedGraph, FileLayout, GraphSizes, Layout
from daskgraphpart.options import stated_options
from daskgraphpart.registry import blaming, broken_contract, load_class

if TYPE_CHECKING:
    from daskgraphpart.schema import GraphSchema


def load_layout(name: str) -> type[Layout]:
    """Import the class of a plug-in's layout."""
    return load_class("layouts", name, Layout)


def plugin_layouts(names: Sequence[str], options: Mapping[str, Any]) -> list[Layout]:
    """Make layouts of plug-ins; each takes its own options, and none may be left over."""
    kinds = {name: load_layout(name) for name in names}
    known = [option for kind in kinds.values() for option in stated_options(kind)]
    if unknown := [option for option in options if option not in known]:
        what, expected = "no such option of the layouts to write", f"some of {', '.join(known) or 'none'}"
        raise OptionError(what, place="layout_options", expected=expected, found=", ".join(unknown))
    return [PluginLayout(name, kind.of(options)) for name, kind in kinds.items()]


@dataclass(frozen=True, slots=True, eq=False)
class PluginLayout(Layout):
    """A layout of a plug-in whose answers are checked."""

    name: str
    layout: Layout

    def check_fits(self, schema: GraphSchema) -> None:
        with self._blaming("check_fits"):
            self.layout.check_fits(schema)

    def check_request(self, graph_name: str, num_parts: int | None) -> None:
        with self._blaming("check_request"):
            self.layout.check_request(graph_name, num_parts)

    def wants(self, schema: GraphSchema) -> Collection[str]:
        with self._blaming("wants"):
            return tuple(self.layout.wants(schema))

    def part_files(self, sizes: GraphSizes, part: int) -> dict[str, FileLayout]:
        """Ask the layout; refuse files outside its directory."""
        with self._blaming("part_files"):
            files = dict(self.layout.part_files(sizes, part))
            for path, file in files.items():
                self._check(path.replace("{part}", str(part)), file)
            return files

    def graph_files(self, schema: GraphSchema) -> dict[str, FileLayout]:
        """Ask the layout; add what is beside it."""
        with self._blaming("graph_files"):
            files = dict(self.layout.graph_files(schema))
            for path, file in files.items():
                self._check(path, file)
        return {**files, **self.companions}

    def descriptions(self, graph_name: str) -> tuple[str, ...]:
        """Ask the layout; the last must be the JSON file that all commands look for."""
        with self._blaming("descriptions"):
            names = tuple(self.layout.descriptions(graph_name))
        if not names or names[-1] != description_of(self.name):
            expected = f"descriptions that end in {description_of(self.name)}"
            raise broken_contract("layouts", self.name, expected, ", ".join(map(str, names)) or "none")
        return names

    def describe(self, graph: DispatchedGraph) -> dict[str, bytes | Mapping[str, Any]]:
        """Ask the layout; only the last description is a manifest."""
        with self._blaming("describe"):
            described = dict(self.layout.describe(graph))
            *names, last = self.descriptions(graph.schema.name)
            kinds = {path: isinstance(content, bytes) for path, content in described.items()}
        if kinds != {**dict.fromkeys(names, True), last: False}:
            expected = "describe returns bytes for each of the descriptions, and a mapping for the last"
            given = ", ".join(f"{path}: {type(content).__name__}" for path, content in described.items())
            raise broken_contract("layouts", self.name, expected, given or "nothing")
        return described

    def links(self) -> Mapping[str, str]:
        with self._blaming("links"):
            return dict(self.layout.links())

    def _check(self, path: str, file: FileLayout) -> None:
        directory, _, below = path.partition("/")
        is_own = re.fullmatch(self.layout.own_files, below, re.DOTALL) and ".." not in below.split("/")
        if directory != self.name or not is_own or not isinstance(file, FileLayout):
            expected = f"a FileLayout at {self.name}/ and what own_files says"
            raise broken_contract("layouts", self.name, expected, f"{file!r} at {path}")

    def _blaming(self, method: str) -> AbstractContextManager[None]:
        return blaming("layouts", self.name, f"{method} works")
