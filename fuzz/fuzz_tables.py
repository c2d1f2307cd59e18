"""Fuzz tables of edges, text and parquet, packed and damaged, against an oracle in plain Python.

    python fuzz/fuzz_tables.py --seconds 1200

Every input is read into a chunked graph as the oracle reads it, or refused; a seed repeats an input.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import lzma
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import zstandard
from pyarrow import parquet

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

from tables_oracle import RefusedError, column_of_text, fill_of, integer_of, rows_of_text  # noqa: E402

from daskgraphpart import GraphPartError, read_chunked, read_id_map, read_tables  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

TYPE = "_N:_E:_N"
DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "|", " ": "space"}
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}  # fmt: skip
NUMBERS = (
    "0",
    "1",
    "-5",
    "+3",
    "007",
    "2.5",
    ".5",
    "5.",
    "1e3",
    "9007199254740993",
    "9223372036854775807",
    "nan",
    "inf",
)
TIMES = (
    "2024-05-01", "2024-05-01 12:00", "2024-05-01T12:00:00Z", "2024-05-01 12:00:00+02:00",
    "1969-12-31 23:59:59.9999999",
    "2024-02-29 24:00:00", "2024-05-01 12:00:00 UTC", "2024-05-01 12:00:00.5 -0730", "0001-01-01",
    "9999-12-31 23:59:59",
)  # fmt: skip
STRINGS = (
    "a", "b b", "ä", "NaNa", "x#", "\U0001f600", 'a"b', "", " ", "{0}", "it's", "%s", "zz", "#y", "a\nb",
    "\r\n\r\n",
)  # fmt: skip
ODD = (
    "", "NA", "null", "None", "\\N", "N/A", "1_0", "0x1F", "+-5", "nan(1)", "1e400", "9223372036854775808", " 7", "7\t",
    "2024-02-30", "2024-05-01 12:00:00 Europe/Berlin", "2024-13-01", "x", "\u0661", "1,5", "-", "infinity", "1 2",
    "\v5",
)  # fmt: skip
COMMAS = ("319,68", "5", "-1,5", ",5", "7,", "1,234", "12,345", "1.234,5", "1e3")
POOLS = (NUMBERS[:5], NUMBERS, TIMES, STRINGS, COMMAS[:5], COMMAS)
FILLS = (None, None, "0", "-1", "0.5", "none", "1e39", "nan", "1_0")


def text_table(chance: random.Random) -> tuple[str, str, bool, int]:
    """Text, its delimiter, whether it has a header, and its number of columns."""
    delimiter, num_columns, num_rows = chance.choice(list(DELIMITERS)), chance.randint(2, 5), chance.randint(0, 30)
    pools = [chance.choice(POOLS) for _ in range(num_columns - 2)]
    lines = []
    has_header = chance.random() < 0.5
    if has_header:
        lines.append([f"c{i}" for i in range(num_columns)])
    odd_rate, gap_rate = chance.choice((0, 0, 0, 0.02)), chance.choice((0, 0, 0.1))
    for _ in range(num_rows):
        row = [str(chance.randrange(40)) for _ in range(2)] + [chance.choice(pool) for pool in pools]
        for i in range(num_columns):
            if chance.random() < odd_rate:
                row[i] = chance.choice(ODD)
            elif i > 1 and chance.random() < gap_rate:
                row[i] = chance.choice(ODD[:6])
        lines.append([quoted(field, delimiter, chance) for field in row])
        if chance.random() < odd_rate / 2:
            lines[-1] = chance.choice((lines[-1][:-1], [*lines[-1], "1"], ["# words"], [""], ['"'], ['1"2']))
    end = chance.choice(("\n", "\n", "\r\n"))
    return (
        end.join(delimiter.join(line) for line in lines) + chance.choice((end, "")),
        delimiter,
        has_header,
        num_columns,
    )


def quoted(field: str, delimiter: str, chance: random.Random) -> str:
    """Write a field, in quotes where it has to be, and sometimes where not."""
    needs = any(mark in field for mark in (delimiter, '"', "\r", "\n")) or (
        delimiter == " " and (not field.strip(" \t") or set(field) & {" ", "\t"})
    )
    if needs or chance.random() < 0.05:
        return '"' + field.replace('"', '""') + '"'
    return field


def check_text(chance: random.Random) -> str:
    """A table in text, packed or not, cut off or damaged or not; what was wrong."""
    text, delimiter, has_header, num_columns = text_table(chance)
    content, name = text.encode(), "e.csv"
    packing = chance.choice((None, *PACKINGS))
    damage = chance.choice((None, None, None, "cut", "flip"))
    if packing is None:
        content = content[: chance.randrange(len(content) + 1)] if damage == "cut" else content
    else:
        name, content = f"e.csv.{packing}", PACKINGS[packing](content)
        if damage == "cut":
            content = content[: chance.randrange(len(content))]
        elif damage == "flip":
            changed = bytearray(content)
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
            content = bytes(changed)
    Path(name).write_bytes(content)
    map_ids, fill = chance.choice((None, None, "integer", "string")), chance.choice(FILLS)
    columns = [f"c{i}" if has_header else str(i) for i in range(num_columns)]
    how: dict[str, Any] = {
        "delimiter": DELIMITERS[delimiter], "header": has_header, "columns": columns[:2], "edge_columns": columns[2:],
    }  # fmt: skip
    how |= {} if map_ids is None else {"map_ids": True, "id_type": map_ids}
    how |= {} if fill is None else {"fill": fill}

    def expected() -> dict[str, Any]:
        if packing is not None and damage == "cut":
            raise RefusedError("cut off")
        try:
            rows = rows_of_text(content.decode() if packing is None else text, delimiter)
        except UnicodeDecodeError:
            raise RefusedError("no UTF-8") from None
        if has_header and ([field.strip() if field else "" for field in rows[0]] != columns):
            raise RefusedError("no such columns")
        if len(rows[0]) < num_columns:
            raise RefusedError("too few columns")
        values = [[row[i] for row in rows[has_header:]] for i in range(num_columns)]
        found = expected_ids(values[:2], map_ids)
        return found | {name: column_of_text(values[i], fill) for i, name in enumerate(columns) if i > 1}

    return compare(name, how, expected, may_refuse=packing is not None and damage == "flip")


def expected_ids(ends: list[list[str | None]], map_ids: str | None) -> dict[str, Any]:
    """Ends of edges, and the original IDs if they are mapped."""
    if map_ids == "string":
        if any(text is None for texts in ends for text in texts):
            raise RefusedError("no ID")
        texts = [[str(text) for text in of_end] for of_end in ends]
        known: list[Any] = sorted({text for of_end in texts for text in of_end}, key=str.encode)
        return {
            "ids": known,
            **{end: [known.index(t) for t in of] for end, of in zip(("src", "dst"), texts, strict=True)},
        }
    numbers = [[integer_of(text) for text in of_end] for of_end in ends]
    if map_ids == "integer":
        known = sorted({number for of_end in numbers for number in of_end})
        return {
            "ids": known,
            **{e: [known.index(n) for n in of] for e, of in zip(("src", "dst"), numbers, strict=True)},
        }
    if any(not 0 <= number < 2**31 for of_end in numbers for number in of_end):
        raise RefusedError("impossible ID")
    return dict(zip(("src", "dst"), numbers, strict=True))


READ = Counter[bool]()
UNITS = {"s": 10**6, "ms": 1000, "us": 1}


def parquet_column(chance: random.Random, num_rows: int) -> tuple[Any, list[Any]]:
    """A column of Arrow, and its values: None where missing, `RefusedError` where out of range."""
    kind = chance.choice(
        ("int8", "uint8", "int32", "int64", "float32", "float64", "bool", "string", "codes", "time", "date", "decimal")
    )
    gap = chance.choice((0, 0, 0.1))
    gaps = [chance.random() < gap for _ in range(num_rows)]

    def made(values: list[Any], arrow: Any) -> Any:
        return pa.array([None if g else v for g, v in zip(gaps, values, strict=True)], arrow)

    def known(values: list[Any]) -> list[Any]:
        return [None if g else v for g, v in zip(gaps, values, strict=True)]

    if kind in ("string", "codes"):
        values: list[Any] = [chance.choice(STRINGS) for _ in range(num_rows)]
        column = made(values, pa.string())
        return (column.dictionary_encode() if kind == "codes" else column), known(values)
    if kind == "time":
        unit, zone = chance.choice(("ms", "us", "ns")), chance.choice((None, "Asia/Tokyo"))
        values = [chance.choice((0, -1, 999, -1001, 2**40 + 7, 2**62 + 5, -(2**62))) for _ in range(num_rows)]
        scaled = [v // 1000 if unit == "ns" else v * UNITS[unit] for v in values]
        return made(values, pa.int64()).cast(pa.timestamp(unit, zone)), known(
            [v if abs(v) < 2**63 else RefusedError for v in scaled]
        )
    if kind == "date":
        values = [chance.choice((0, -1, 19_844, 2**26, 2**31 - 1, -(2**31))) for _ in range(num_rows)]
        scaled = [v * 86_400 * 10**6 for v in values]
        return made(values, pa.int32()).cast(pa.date32()), known(
            [v if abs(v) < 2**63 else RefusedError for v in scaled]
        )
    if kind == "decimal":
        scale = chance.choice((0, 2))
        values = [Decimal(chance.choice((0, -7, 10**17, 10**20))) for _ in range(num_rows)]
        ends = [float(v) if scale else int(v) if abs(v) < 2**63 else RefusedError for v in values]
        return made(values, pa.decimal128(38, scale)), known(ends)
    if kind == "bool":
        values = [chance.random() < 0.5 for _ in range(num_rows)]
    elif kind.startswith("float"):
        values = [
            float(np.dtype(kind).type(chance.choice((0.5, -1.25, 1e30, float("inf"), 0.1)))) for _ in range(num_rows)
        ]
    else:
        info = np.iinfo(kind)
        values = [chance.choice((0, 1, info.min, info.max)) for _ in range(num_rows)]
    return made(values, pa.from_numpy_dtype(np.dtype(kind))), known(values)


def check_parquet(chance: random.Random) -> str:
    """A table in parquet, cut off or not; what was wrong."""
    num_rows = chance.randint(1, 30)
    ends = [[chance.randrange(40) for _ in range(num_rows)] for _ in range(2)]
    columns, values = {"src": pa.array(ends[0]), "dst": pa.array(ends[1])}, {}
    for i in range(chance.randint(1, 3)):
        columns[f"f{i}"], values[f"f{i}"] = parquet_column(chance, num_rows)
    codec = chance.choice(("none", "snappy", "zstd", "gzip"))
    parquet.write_table(pa.table(columns), "e.parquet", row_group_size=chance.choice((1, 7, 100)), compression=codec)
    is_cut = chance.random() < 0.15
    if is_cut:
        os.truncate("e.parquet", chance.randrange(os.path.getsize("e.parquet")))
    fill = chance.choice(FILLS)

    def expected() -> dict[str, Any]:
        if is_cut:
            raise RefusedError("cut off")
        found: dict[str, Any] = {"src": ends[0], "dst": ends[1]}
        for name, column in values.items():
            is_text = pa.types.is_string(columns[name].type) or pa.types.is_dictionary(columns[name].type)
            if RefusedError in column or (None in column and fill is None and not is_text):
                raise RefusedError("out of range, or missing")
            if is_text:
                known = sorted({text.encode() for text in column if text is not None})
                found[name] = [-1 if text is None else known.index(text.encode()) for text in column]
            else:
                filled = None if fill is None else fill_of(fill)
                found[name] = [filled if value is None else value for value in column]
        return found

    how = {"edge_columns": list(values), **({} if fill is None else {"fill": fill})}
    return compare("e.parquet", how, expected)


def compare(path: str, how: dict[str, Any], expected: Callable[[], dict[str, Any]], *, may_refuse: bool = False) -> str:
    """Read a table, and compare with what is expected: what was wrong, or nothing."""
    shutil.rmtree("out", ignore_errors=True)
    try:
        read_tables(path, **how).write_chunked("out", memory=64 << 20, cluster="sync")
        error = None
    except GraphPartError as refusal:
        error = refusal
    READ[error is None] += 1
    try:
        wanted = expected()
    except RefusedError as refused:
        return "" if error is not None else f"read, although {refused}: {how}"
    if error is not None:
        return "" if may_refuse else f"refused: {error}: {how}"
    graph = read_chunked("out")
    frame = graph.edges[TYPE].compute(scheduler="sync")
    found = {end: frame[end].tolist() for end in ("src", "dst")}
    found |= {name: rows.compute(scheduler="sync").tolist() for name, rows in graph.edge_data.get(TYPE, {}).items()}
    if "ids" in wanted:
        found["ids"] = list(read_id_map("out", "_N")["id"].compute(scheduler="sync"))
    for name, values in wanted.items():
        if not same(found[name], values):
            return f"{name} differs: {how}\n  found    {found[name]}\n  expected {values}"
    return ""


def same(found: list[Any], expected: list[Any]) -> bool:
    """Whether values are equal; integers that share a column with floats are rounded."""
    if any(isinstance(value, float) for value in found):
        with np.errstate(over="ignore"):
            return bool(np.array_equal(np.array(found, float), np.array(expected, float), equal_nan=True))
    return found == expected


def main() -> None:
    """Check tables until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0, help="of the first input")
    parser.add_argument("--inputs", type=int, default=10**9)
    options = parser.parse_args()
    done, bad = Counter[str](), 0
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as scratch:
        os.chdir(scratch)
        end = time.monotonic() + options.seconds
        for seed in range(options.seed, options.seed + options.inputs):
            if time.monotonic() > end:
                break
            chance = random.Random(seed)
            check = chance.choice((check_text, check_text, check_parquet))
            try:
                fault = check(chance)
            except Exception as error:  # of the package, or of this file: both are found
                fault = f"{type(error).__name__}: {error}"
            done[check.__name__] += 1
            if fault:
                bad += 1
                print(f"seed {seed}: {fault}", flush=True)
        os.chdir("/")
    print(f"{done.total()} inputs ({dict(done)}), {READ[True]} of them read, {bad} faults")
    raise SystemExit(bool(bad))


if __name__ == "__main__":
    main()
