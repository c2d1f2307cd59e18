"""Write what GraphStorm's commands read beside a graph: the config with statistics, and counts of labels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.output import LABEL_COUNTS, TRANSFORMED
from daskgraphpart.construction.features import feature_width, mapping_of
from daskgraphpart.construction.statistics import bounds, divisor
from daskgraphpart.storage.atomic import write_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from daskgraphpart.construction.config import Construction, Feature
    from daskgraphpart.construction.statistics import Described, TransformColumn

RUNTIME_VERSION = "gconstruct-runtime-v0.1"
_STEP = re.compile(r"(\w+)\[(\d+)\]")


def write_descriptions(
    config: Construction,
    described: Sequence[Described],
    stats: dict[str, dict[str, dict[str, int]]],
    out: Path,
    *,
    is_reversed: bool,
) -> None:
    """Write the config with the transforms' statistics, and counts of classes."""
    write_json(out / TRANSFORMED, describe_transforms(config, described, is_reversed=is_reversed))
    write_stats(config, stats, out)


def describe_transforms(config: Construction, described: Sequence[Described], *, is_reversed: bool) -> dict[str, Any]:
    """Return gconstruct's form of the config: with statistics of all rows, to transform others alike."""
    content = config.content
    content |= {"version": RUNTIME_VERSION, "is_homogeneous": config.is_homogeneous}
    content["add_reverse_edges"] = is_reversed
    for of in described:
        for feature in of.table.entry.features:
            _add_found(_at(content, feature.place), feature, of.columns[feature.place])
    return content


def _at(content: dict[str, Any], place: str) -> dict[str, Any]:
    found: Any = content
    for key, index in _STEP.findall(place.removeprefix("graph.")):
        found = found[key][int(index)]
    feature: dict[str, Any] = found
    return feature


def _add_found(described: dict[str, Any], feature: Feature, columns: Sequence[TransformColumn]) -> None:
    how = feature.transform
    described["feature_dim"] = [feature_width(feature, columns)]
    if how.name == "max_min_norm":
        pairs = [bounds(how, column, i) for i, column in enumerate(columns)]
        described["transform"]["max_val"] = _listed([high for _, high in pairs])
        described["transform"]["min_val"] = _listed([low for low, _ in pairs])
    elif how.name == "standard":
        described["transform"]["sum"] = _listed([divisor(how, column, i) for i, column in enumerate(columns)])
    elif how.name == "to_categorical":
        described["transform"]["mapping"] = mapping_of(how, columns[0])


def _listed(values: list[np.ndarray]) -> list[float]:
    listed: list[float] = np.concatenate([np.atleast_1d(value) for value in values]).tolist()
    return listed


def write_stats(config: Construction, stats: dict[str, dict[str, dict[str, int]]], out: Path) -> None:
    """Write the number of rows of each class in the train sets, for all types in the config."""
    for name, entries in zip(LABEL_COUNTS, (config.nodes, config.edges), strict=True):
        if not entries:
            continue
        content = {
            entry.of_type.replace(":", ","): {
                label: {"stats_type": "frequency_cnt", "info": counts}
                for label, counts in stats.get(entry.of_type, {}).items()
            }
            for entry in entries
        }
        write_json(out / name, content)
