"""Fuzz tables of edges, text and parquet, packed and damaged, against an oracle in plain Python.

    python fuzz/fuzz_tables.py --seconds 1200
    python fuzz/fuzz_tables.py --seconds 1200 --rows 300000

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

from tables_oracle import RefusedError, codes_of, column_of_text, fill_of, integer_of, rows_of_text  # noqa: E402

from daskgraphpart import GraphPartError, read_chunked, read_id_map, scan_tables  # noqa: E402
from daskgraphpart.readers.tables.describe.text_file import ROWS_LOOKED_AT  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
FEW_ROWS = 1000
"""More are a table that DuckDB reads with several threads."""
FILLS = (None, None, "0", "-1", "0.5", "none", "1e39", "nan", "1_0")


def text_table(chance: random.Random, num_rows: int) -> tuple[str, str, bool, int]:
    """Text, its delimiter, whether it has a header, and its number of columns."""
    delimiter, num_columns = chance.choice(list(DELIMITERS)), chance.randint(2, 5)
    has_header = chance.random() < 0.5
    odd_rate, gap_rate = chance.choice((0, 0, 0, min(0.02, 2 / max(1, num_rows)))), chance.choice((0, 0, 0.1))
    pools = [[str(i) for i in range(max(40, num_rows // 8))]] * 2
    pools += [[*chance.choice(POOLS)] for _ in range(num_columns - 2)]
    if num_rows > FEW_ROWS:
        pools[2:] = [[*pool, *more_of(pool, num_rows)] if chance.random() < 0.5 else pool for pool in pools[2:]]
    columns = []
    for number, pool in enumerate(pools):
        written = [quoted(field, delimiter, chance) for field in chance.choices(pool, k=min(num_rows, 2 * len(pool)))]
        column = chance.choices(written, k=num_rows) if written else []
        for i in range(num_rows if gap_rate and number > 1 else 0):
            if chance.random() < gap_rate:
                column[i] = quoted(chance.choice(ODD[:6]), delimiter, chance)
        columns.append(column)
    lines = [delimiter.join(fields) for fields in zip(*columns, strict=True)]
    for i in range(num_rows if odd_rate else 0):
        if chance.random() < odd_rate * num_columns:
            fields = [column[i] for column in columns]
            fields[chance.randrange(num_columns)] = quoted(chance.choice(ODD), delimiter, chance)
            lines[i] = delimiter.join(fields)
        if chance.random() < odd_rate / 2:
            cut = lines[i].rpartition(delimiter)[0]
            lines[i] = chance.choice((cut, f"{lines[i]}{delimiter}1", "# words", "", '"', '1"2'))
    if has_header:
        lines.insert(0, delimiter.join(f"c{i}" for i in range(num_columns)))
    end = chance.choice(("\n", "\n", "\r\n"))
    return end.join(lines) + chance.choice((end, "")), delimiter, has_header, num_columns


def more_of(pool: Sequence[str], num_rows: int) -> list[str]:
    """Many other values of the kind of a pool's first one."""
    if pool[0] == TIMES[0]:
        return [f"{1970 + i % 90}-{1 + i % 12:02}-{1 + i % 28:02} {i % 24:02}:00" for i in range(num_rows // 4)]
    if pool[0] == STRINGS[0]:
        return [f"s{i * 7919 % num_rows}" for i in range(num_rows // 4)]
    return [str(i) for i in range(num_rows // 4)]


def quoted(field: str, delimiter: str, chance: random.Random) -> str:
    """Write a field, in quotes where it has to be, and sometimes where not."""
    needs = any(mark in field for mark in (delimiter, '"', "\r", "\n")) or (
        delimiter == " " and (not field.strip(" \t") or set(field) & {" ", "\t"})
    )
    if needs or chance.random() < 0.05:
        return '"' + field.replace('"', '""') + '"'
    return field


def check_text(chance: random.Random, most_rows: int) -> str:
    """A table in text, packed or not, cut off or damaged or not; what was wrong."""
    num_rows = chance.randint(most_rows // 2 if most_rows > FEW_ROWS else 0, most_rows)
    text, delimiter, has_header, num_columns = text_table(chance, num_rows)
    content, name = text.encode(), "e.csv"
    packing = chance.choice((None, *PACKINGS))
    damage = chance.choice((*([None] * (3 if num_rows <= FEW_ROWS else 18)), "cut", "flip"))
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
    map_ids, fill = chance.choice((None, None, "integer", "string")), fill_for(chance, num_rows)
    columns = [f"c{i}" if has_header else str(i) for i in range(num_columns)]
    how: dict[str, Any] = {
        "delimiter": DELIMITERS[delimiter], "header": has_header, "endpoints": columns[:2],
        "edge_features": columns[2:],
    }  # fmt: skip
    how |= {} if map_ids is None else {"map_ids": True, "id_type": map_ids}
    how |= ({} if fill is None else {"fill": fill}) | resources(chance, num_rows)

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
        looked_at = ROWS_LOOKED_AT - has_header
        return found | {name: column_of_text(values[i], fill, looked_at) for i, name in enumerate(columns) if i > 1}

    return compare(name, how, expected, may_refuse=packing is not None and damage == "flip")


def expected_ids(ends: list[list[str | None]], map_ids: str | None) -> dict[str, Any]:
    """Ends of edges, and the original IDs if they are mapped."""
    if map_ids == "string" and any(text is None for texts in ends for text in texts):
        raise RefusedError("no ID")
    ids: list[list[Any]] = [texts if map_ids == "string" else [integer_of(text) for text in texts] for texts in ends]
    if map_ids is not None:
        every = [one for of_end in ids for one in of_end]
        codes = codes_of(every)
        known = dict(zip(codes, every, strict=True))
        return {"ids": [known[i] for i in range(len(known))], "src": codes[: len(ids[0])], "dst": codes[len(ids[0]) :]}
    if any(not 0 <= number < 2**31 for of_end in ids for number in of_end):
        raise RefusedError("impossible ID")
    return dict(zip(("src", "dst"), ids, strict=True))


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
        many = more_of(STRINGS, num_rows) if num_rows > FEW_ROWS and chance.random() < 0.5 else []
        values: list[Any] = chance.choices([*STRINGS, *many], k=num_rows)
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


def check_parquet(chance: random.Random, most_rows: int) -> str:
    """A table in parquet, cut off or not; what was wrong."""
    num_rows = chance.randint(most_rows // 2 if most_rows > FEW_ROWS else 1, most_rows)
    ends = [[chance.randrange(max(40, num_rows // 8)) for _ in range(num_rows)] for _ in range(2)]
    columns, values = {"src": pa.array(ends[0]), "dst": pa.array(ends[1])}, {}
    for i in range(chance.randint(1, 3)):
        columns[f"f{i}"], values[f"f{i}"] = parquet_column(chance, num_rows)
    codec = chance.choice(("none", "snappy", "zstd", "gzip"))
    of_group = chance.choice((1, 7, 100) if num_rows <= FEW_ROWS else (5_000, 50_000, 122_880, 500_000))
    parquet.write_table(pa.table(columns), "e.parquet", row_group_size=of_group, compression=codec)
    is_cut = chance.random() < 0.15
    if is_cut:
        os.truncate("e.parquet", chance.randrange(os.path.getsize("e.parquet")))
    fill = fill_for(chance, num_rows)

    def expected() -> dict[str, Any]:
        if is_cut:
            raise RefusedError("cut off")
        found: dict[str, Any] = {"src": ends[0], "dst": ends[1]}
        for name, column in values.items():
            is_text = pa.types.is_string(columns[name].type) or pa.types.is_dictionary(columns[name].type)
            if RefusedError in column or (None in column and fill is None and not is_text):
                raise RefusedError("out of range, or missing")
            if is_text:
                found[name] = [-1 if code is None else code for code in codes_of(column)]
            else:
                filled = None if fill is None else fill_of(fill)
                found[name] = [filled if value is None else value for value in column]
        return found

    how: dict[str, Any] = {"edge_features": list(values), **resources(chance, num_rows)}
    how |= {} if fill is None else {"fill": fill}
    return compare("e.parquet", how, expected)


def fill_for(chance: random.Random, num_rows: int) -> str | None:
    """What replaces missing values; many rows are rarely refused for it."""
    return chance.choice(FILLS if num_rows <= FEW_ROWS or chance.random() < 0.1 else FILLS[2:5])


def resources(chance: random.Random, num_rows: int) -> dict[str, Any]:
    """One thread for few rows; else one to four, by memory, and any number of workers."""
    if num_rows <= FEW_ROWS:
        return {"memory": 64 << 20, "cluster": "sync"}
    return {
        "memory": chance.choice((64, 200, 450, 1000)) << 20,
        "cluster": "threads",
        "workers": chance.choice((1, 2, 4)),
    }


def compare(path: str, how: dict[str, Any], expected: Callable[[], dict[str, Any]], *, may_refuse: bool = False) -> str:
    """Read a table, and compare with what is expected: what was wrong, or nothing."""
    shutil.rmtree("out", ignore_errors=True)
    try:
        where = {name: how[name] for name in how if name in ("memory", "cluster", "workers")}
        scan_tables(path, **{name: how[name] for name in how if name not in where}).write_chunked("out", **where)
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
            pairs = enumerate(zip(found[name], values, strict=False))
            row = next((i for i, (a, b) in pairs if not same([a], [b])), min(len(found[name]), len(values)))
            shown = f"found {found[name][row : row + 9]}, expected {values[row : row + 9]}"
            return f"{name} differs from row {row} on, of {len(found[name])} and {len(values)}: {how}\n  {shown}"
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
    parser.add_argument("--rows", type=int, default=30, help="at most; beyond 1000, at least half as many")
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
                fault = check(chance, options.rows)
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
