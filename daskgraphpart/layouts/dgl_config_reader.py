"""Take values out of a partition config, without trusting them: types, numbers, ranges, paths."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
import numpy as np
from upath import UPath

from daskgraphpart.errors import LayoutError
from daskgraphpart.layouts.manifest import SUFFIX
from daskgraphpart.storage.confine import leads_outside
from daskgraphpart.storage.files import is_file, list_names
from daskgraphpart.storage.json_file import convert_json, shown
from daskgraphpart.storage.stores import kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.storage.paths import Location

T = TypeVar("T")
Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 62)]
BAD = "bad value in the partition config"
BESIDE = ("orig_nids.dgl", "orig_eids.dgl", "split_nids.dgl")
"""Files of a part that its config does not name."""


class PartPaths(msgspec.Struct, frozen=True):
    """Files of one part; relative to the config, or absolute."""

    node_feats: str
    edge_feats: str
    part_graph: str


class ConfigKeys(msgspec.Struct):
    """Keys of a config beside those of the parts; maps of ranges and types have rules of their own."""

    num_parts: Annotated[int, msgspec.Meta(ge=1)]
    num_nodes: Count
    num_edges: Count
    graph_name: str = ""
    part_method: str = "metis"
    halo_hops: Count = 1
    ntypes: dict[str, int] = msgspec.field(default_factory=lambda: {"_N": 0})
    etypes: dict[str, int] = msgspec.field(default_factory=lambda: {"_N:_E:_N": 0})


@dataclass(frozen=True, slots=True)
class ConfigReader:
    """Takes values out of a config and checks them."""

    file: str
    content: dict[str, Any]

    def fault(self, what: str, place: str, **details: Any) -> LayoutError:
        """Error at a key."""
        return LayoutError(what, file=self.file, place=place, **details)

    def take(self, kind: type[T], content: Any, place: str = "", what: str = BAD, expected: str | None = None) -> T:
        """Convert a value."""
        return convert_json(content, kind, LayoutError, what, file=self.file, place=place, expected=expected)

    def keys(self) -> ConfigKeys:
        """Keys of the whole graph. Each part has an entry: no table is made for parts that somebody only claims."""
        keys = self.take(ConfigKeys, self.content)
        entries = sum(re.fullmatch(r"part-(0|[1-9]\d*)", key) is not None for key in self.content)
        if keys.num_parts != entries:
            expected = f"{entries}, as there are keys part-0, part-1, ..."
            raise self.fault("wrong number of parts", "num_parts", expected=expected, found=keys.num_parts)
        return keys

    def total(self, key: str, given: int, ranges: np.ndarray) -> int:
        """A number of nodes or edges, which the ranges must add up to."""
        total = int(ranges[-1, -1, 1]) if ranges.size else 0
        if given != total:
            raise self.fault("disagrees with the ranges of IDs", key, expected=f"{total:,}", found=f"{given:,}")
        return given

    def types(self, key: str, numbers: dict[str, int]) -> tuple[str, ...]:
        """Names of types in the order of their numbers, which must be 0, 1, ..."""
        if sorted(numbers.values()) != list(range(len(numbers))):
            raise self.fault("types are not numbered 0, 1, ...", key, found=shown(numbers))
        for name in numbers:
            if not name or "\0" in name or name.encode(errors="replace").decode() != name:
                raise self.fault("impossible name of a type", key, expected="text", found=shown(name))
        if not numbers and key == "ntypes":
            raise self.fault("no node type", key, expected="at least one")
        return tuple(sorted(numbers, key=numbers.__getitem__))

    def ranges(self, key: str, names: tuple[str, ...], num_parts: int) -> np.ndarray:
        """Ranges of new IDs, int64 (parts, types, 2), which must follow each other part by part and type by type."""
        maps = self.content.get(key)
        if isinstance(maps, list):
            maps = dict.fromkeys(names[:1], maps)
        if not isinstance(maps, dict):
            hint = (
                "IDs were not reshuffled: load_partition reads this, all else needs partitions made with new IDs"
                if isinstance(maps, str)
                else None
            )
            raise self.fault(
                "not a map of ranges", key, expected="{type: [[start, end], ...]}", found=shown(maps), hint=hint
            )
        unknown = [name for name in maps if name not in names]
        if unknown:
            raise self.fault("ranges of an unknown type", f"{key}.{unknown[0]}", expected=f"one of: {', '.join(names)}")
        table = np.zeros((num_parts, len(names), 2), np.int64)
        each = msgspec.Meta(min_length=num_parts, max_length=num_parts)
        for i, name in enumerate(names):
            of_type = maps.get(name)
            has_ends_alone = isinstance(of_type, list) and bool(of_type) and isinstance(of_type[0], int)
            kind: Any = Annotated[list[Count] if has_ends_alone else list[tuple[Count, Count]], each]
            expected = f"{num_parts} pairs of whole numbers"
            table[:, i] = _pairs(self.take(kind, of_type, f"{key}.{name}", "bad ranges", expected))
        self._check_contiguous(key, names, table)
        return table

    def _check_contiguous(self, key: str, names: tuple[str, ...], table: np.ndarray) -> None:
        flat = table.reshape(-1, 2)
        if not flat.size:
            return
        wrong = (flat[:, 1] < flat[:, 0]) | (flat[:, 0] != np.append(0, flat[:-1, 1]))
        if wrong.any():
            gap = int(np.flatnonzero(wrong)[0])
            part, type_id = divmod(gap, len(names))
            raise self.fault(
                "ranges do not follow each other, part by part and type by type",
                f"{key}.{names[type_id]}[{part}]",
                expected=f"a start of {int(flat[gap - 1, 1]) if gap else 0:,}",
                found=flat[gap].tolist(),
            )

    def part(self, number: int, directory: Location) -> PartPaths:
        """Files of a part, which must be there."""
        key = f"part-{number}"
        given = self.take(PartPaths, self.content.get(key), key, "files of a part are missing from the config")
        names = msgspec.structs.asdict(given).items()
        return PartPaths(*(self._existing(f"{key}.{name}", value, directory) for name, value in names))

    def _existing(self, place: str, name: str, directory: Location) -> str:
        """Return the name a file has: DGL's documentation writes node_feats.dgl, its code node_feat.dgl."""
        if is_file(directory / name):
            return name
        singular, plural = ("_feat.dgl", "_feats.dgl") if name.endswith("_feat.dgl") else ("_feats.dgl", "_feat.dgl")
        other = name.removesuffix(singular) + plural
        if name.endswith(singular) and is_file(directory / other):
            return other
        raise self.fault("file of a part is missing", place, found=name, hint="copy it beside the config")

    def check_confined(self, config: Location, parts: Sequence[PartPaths]) -> None:
        """Refuse files of parts, those that the config does not name included, that are not where the config is."""
        for number, part in enumerate(parts):
            names = [config.name, part.node_feats, part.edge_feats, part.part_graph]
            beside = (os.path.join(os.path.dirname(part.part_graph), name) for name in BESIDE)
            names += [name for name in beside if _is_there(config.parent / name)]
            if number == 0:
                names += [name for name in list_names(config.parent) if name.endswith(SUFFIX)]
            for name in names:
                target = leads_outside(config.parent / name, config.parent)
                if target is not None:
                    raise self.fault(
                        "leads out of the directory of the partition config",
                        f"part-{number}",
                        expected=str(config.parent.absolute()),
                        found=target,
                        hint="the partitions were opened as confined",
                    )


def _pairs(ranges: list[int] | list[tuple[int, int]]) -> np.ndarray:
    """Ranges, int64 (parts, 2), of which the oldest configs have the ends alone."""
    found = np.array(ranges, np.int64)
    return np.stack([np.append(0, found[:-1]), found], axis=1) if found.ndim == 1 else found


def _is_there(path: Location) -> bool:
    """Whether there is anything of that name, a broken link included."""
    return kind_of(path) is not None if isinstance(path, UPath) else os.path.lexists(path)
