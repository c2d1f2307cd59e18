"""Take values out of a partition config, without trusting them: types, numbers, ranges, paths."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from upath import UPath

from daskgraphpart.errors import LayoutError
from daskgraphpart.layouts.manifest import SUFFIX
from daskgraphpart.storage.confine import leads_outside
from daskgraphpart.storage.files import is_file, list_names
from daskgraphpart.storage.json_file import shown
from daskgraphpart.storage.stores import kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.storage.paths import Location

MAX_IDS = 1 << 62
BESIDE = ("orig_nids.dgl", "orig_eids.dgl", "split_nids.dgl")
"""Files of a part that its config does not name."""


@dataclass(frozen=True, slots=True)
class PartPaths:
    """Files of one part; relative to the config, or absolute."""

    node_feats: str
    edge_feats: str
    part_graph: str


@dataclass(frozen=True, slots=True)
class ConfigReader:
    """Takes values out of a config and checks them."""

    file: str
    content: dict[str, Any]

    def fault(self, what: str, place: str, **details: Any) -> LayoutError:
        """Error at a key."""
        return LayoutError(what, file=self.file, place=place, **details)

    def number(self, key: str, default: int | None = None) -> int:
        """Whole number of at most `MAX_IDS`."""
        value = self.content.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_IDS:
            raise self.fault("bad number in the partition config", key, expected="a whole number", found=shown(value))
        return value

    def text(self, key: str, default: str) -> str:
        """String."""
        value = self.content.get(key, default)
        if not isinstance(value, str):
            raise self.fault("bad text in the partition config", key, expected="a string", found=shown(value))
        return value

    def parts(self) -> int:
        """Number of parts, each of which has an entry: no table is made for parts that somebody only claims."""
        num_parts = self.number("num_parts")
        entries = sum(re.fullmatch(r"part-(0|[1-9]\d*)", key) is not None for key in self.content)
        if num_parts < 1 or num_parts != entries:
            expected = f"{entries}, as there are keys part-0, part-1, ..."
            raise self.fault("wrong number of parts", "num_parts", expected=expected, found=num_parts)
        return num_parts

    def total(self, key: str, ranges: np.ndarray) -> int:
        """A number of nodes or edges, which the ranges must add up to."""
        given, total = self.number(key), int(ranges[-1, -1, 1]) if ranges.size else 0
        if given != total:
            raise self.fault("disagrees with the ranges of IDs", key, expected=f"{total:,}", found=f"{given:,}")
        return given

    def types(self, key: str, default: dict[str, int]) -> tuple[str, ...]:
        """Names of types in the order of their numbers, which must be 0, 1, ..."""
        value = self.content.get(key, default)
        numbers = list(value.values()) if isinstance(value, dict) else []
        whole = all(isinstance(number, int) and not isinstance(number, bool) for number in numbers)
        if not isinstance(value, dict) or not whole or sorted(numbers) != list(range(len(numbers))):
            raise self.fault("types are not numbered 0, 1, ...", key, found=shown(value))
        for name in value:
            if not name or "\0" in name or not _is_unicode(name):
                raise self.fault("impossible name of a type", key, expected="text", found=shown(name))
        if not value and key == "ntypes":
            raise self.fault("no node type", key, expected="at least one")
        return tuple(sorted(value, key=value.__getitem__))

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
        for i, name in enumerate(names):
            ranges = _whole_numbers(maps.get(name), num_parts)
            if ranges is None:
                expected = f"{num_parts} pairs of whole numbers"
                raise self.fault("bad ranges", f"{key}.{name}", expected=expected, found=shown(maps.get(name)))
            table[:, i] = ranges
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
        entry = self.content.get(key)
        names = ("node_feats", "edge_feats", "part_graph")
        if not isinstance(entry, dict) or not all(isinstance(entry.get(name), str) for name in names):
            raise self.fault(
                "files of a part are missing from the config", key, expected=", ".join(names), found=shown(entry)
            )
        return PartPaths(*(self._existing(f"{key}.{name}", entry[name], directory) for name in names))

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


def _whole_numbers(ranges: Any, num_parts: int) -> np.ndarray | None:
    """Ranges of one type, int64 (parts, 2); None if they are anything else."""
    if not isinstance(ranges, list) or len(ranges) != num_parts:
        return None
    flat = [number for pair in ranges for number in (pair if isinstance(pair, list) else [pair])]
    if any(not isinstance(n, int) or isinstance(n, bool) or not 0 <= n <= MAX_IDS for n in flat):
        return None
    if all(isinstance(pair, list) and len(pair) == 2 for pair in ranges):
        return np.array(flat, np.int64).reshape(num_parts, 2)
    if not any(isinstance(pair, list) for pair in ranges):  # ends alone, as the oldest configs have them
        return np.stack([[0, *flat[:-1]], flat], axis=1)
    return None


def _is_there(path: Location) -> bool:
    """Whether there is anything of that name, a broken link included."""
    return kind_of(path) is not None if isinstance(path, UPath) else os.path.lexists(path)


def _is_unicode(name: str) -> bool:
    return name.encode(errors="replace").decode() == name
