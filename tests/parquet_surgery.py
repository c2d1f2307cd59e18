"""Take the Thrift of parquet files apart and put it together again, changed: a second, trusting reader, and a writer.

A struct is a dict of number of field to (kind, value); the value of a list is (kind of the elements, elements).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
Struct = dict[int, tuple[int, Any]]

NUM_VALUES, NBYTES, DATA_OFFSET, DICTIONARY_OFFSET, CODEC = 5, 7, 9, 11, 4


def varint(number: int) -> bytes:
    """Seven bits a byte."""
    content = bytearray()
    while number > 127:
        content.append(number & 127 | 128)
        number >>= 7
    return bytes([*content, number])


def zigzag(number: int) -> bytes:
    """A signed number."""
    return varint(number * 2 if number >= 0 else -number * 2 - 1)


def encode(kind: int, value: Any) -> bytes:
    """A value."""
    if kind in (I16, I32, I64):
        return zigzag(value)
    if kind == BINARY:
        return varint(len(value)) + value
    if kind in (LIST, SET):
        of, items = value
        head = bytes([len(items) << 4 | of]) if len(items) < 15 else bytes([0xF0 | of]) + varint(len(items))
        return head + b"".join(bytes([of]) if of <= FALSE and not item else encode(of, item) for item in items)
    if kind == STRUCT:
        return encode_struct(value)
    return bytes(value)  # as it is: of a byte, a double, nothing, or whatever a test wants there


def encode_struct(struct: Struct) -> bytes:
    """A struct."""
    content, last = b"", 0
    for number, (kind, value) in struct.items():
        near = 0 < number - last < 16
        content += bytes([(number - last) << 4 | kind]) if near else bytes([kind]) + zigzag(number)
        content += encode(kind, value)
        last = number
    return content + b"\0"


class Decoder:
    """Reads what is right."""

    def __init__(self, content: bytes, at: int = 0) -> None:
        self.content, self.at = content, at

    def byte(self) -> int:
        self.at += 1
        return self.content[self.at - 1]

    def varint(self) -> int:
        byte = self.byte()
        return byte if byte < 128 else (byte & 127) + (self.varint() << 7)

    def zigzag(self) -> int:
        number = self.varint()
        return number // 2 if number % 2 == 0 else -(number + 1) // 2

    def bytes(self, length: int) -> bytes:
        self.at += length
        return self.content[self.at - length : self.at]

    def struct(self) -> Struct:
        struct: Struct = {}
        last = 0
        while head := self.byte():
            last = last + (head >> 4) if head >> 4 else self.zigzag()
            struct[last] = head & 15, self.value(head & 15)
        return struct

    def value(self, kind: int, in_list: bool = False) -> Any:
        if kind in (I16, I32, I64):
            return self.zigzag()
        if kind == BINARY:
            return self.bytes(self.varint())
        if kind == STRUCT:
            return self.struct()
        if kind in (LIST, SET):
            head = self.byte()
            count = self.varint() if head >> 4 == 15 else head >> 4
            return head & 15, [self.value(head & 15, in_list=True) for _ in range(count)]
        return self.bytes({TRUE: int(in_list), FALSE: int(in_list), BYTE: 1, DOUBLE: 8}[kind])


def split(content: bytes) -> tuple[bytes, Struct]:
    """Body and footer of a parquet file."""
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    return content[:start], Decoder(content, start).struct()


def join(body: bytes, footer: Struct) -> bytes:
    """The file again."""
    return join_bytes(body, encode_struct(footer))


def join_bytes(body: bytes, footer: bytes) -> bytes:
    """A file with a footer of any bytes."""
    return body + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def groups_of(footer: Struct) -> list[Struct]:
    """Row groups."""
    groups: list[Struct] = footer[4][1][1]
    return groups


def chunks_of(footer: Struct) -> list[Struct]:
    """Metadata of all column chunks, those of the first row group first."""
    return [chunk[3][1] for group in groups_of(footer) for chunk in group[1][1][1]]


def change_footer(content: bytes, change: Callable[[Struct], object]) -> bytes:
    """The file with a changed footer."""
    body, footer = split(content)
    change(footer)
    return join(body, footer)


def pages_of(content: bytes, chunk: int = 0) -> list[tuple[Struct, bytes]]:
    """Headers and contents of the pages of a chunk."""
    metadata = chunks_of(split(content)[1])[chunk]
    at = min(metadata[key][1] for key in (DATA_OFFSET, DICTIONARY_OFFSET) if metadata.get(key, (0, 0))[1])
    stop, pages = at + metadata[NBYTES][1], []
    while at < stop:
        decoder = Decoder(content, at)
        header = decoder.struct()
        pages.append((header, decoder.bytes(header[3][1])))
        at = decoder.at
    assert at == stop
    return pages


def with_pages(content: bytes, pages: list[tuple[bytes, bytes]], chunk: int = 0) -> bytes:
    """The file with other pages in a chunk, which moves behind all others; the first is a dictionary if it was."""
    body, footer = split(content)
    metadata, begin = chunks_of(footer)[chunk], len(body)
    body += b"".join(header + values for header, values in pages)
    metadata[NBYTES] = I64, len(body) - begin
    if metadata.get(DICTIONARY_OFFSET, (0, 0))[1]:
        metadata[DICTIONARY_OFFSET] = I64, begin
        begin += sum(map(len, pages[0]))
    metadata[DATA_OFFSET] = I64, begin
    return join(body, footer)


def change_page(content: bytes, change: Callable[[Struct], object], page: int = 0, chunk: int = 0) -> bytes:
    """The file with a changed header of a page."""
    pages = pages_of(content, chunk)
    change(pages[page][0])
    return with_pages(content, [(encode_struct(header), values) for header, values in pages], chunk)


def packed(numbers: list[int], block: int = 128, parts: int = 4, total: int | None = None, width: int = 32) -> bytes:
    """At most 33 numbers as DELTA_BINARY_PACKED has them, behind a head that claims anything."""
    steps = np.zeros(32, "<i8")
    steps[: len(numbers) - 1] = np.diff(numbers)
    head = varint(block) + varint(parts) + varint(len(numbers) if total is None else total) + zigzag(numbers[0])
    return head + zigzag(0) + bytes([width, *[0] * (min(parts, 64) - 1)]) + steps.astype("<u4").tobytes()


def with_values(content: bytes, values: bytes, codec: str) -> bytes:
    """The file with other values in the first page of the first column, which is optional, behind the same levels."""
    compressor = None if codec == "none" else pa.Codec({"lz4": "lz4_raw"}.get(codec, codec))
    header, page = pages_of(content)[0]
    if 8 in header:
        levels = page[: header[8][1][5][1] + header[8][1][6][1]]
        changed = levels + (compressor.compress(values, asbytes=True) if compressor else values)
        header[8][1][7] = TRUE, b""
    else:
        plain = compressor.decompress(page, header[2][1], asbytes=True) if compressor else page
        levels = plain[: 4 + int.from_bytes(plain[:4], "little")]
        changed = compressor.compress(levels + values, asbytes=True) if compressor else levels + values
    header[2], header[3] = (I32, len(levels) + len(values)), (I32, len(changed))
    return with_pages(content, [(encode_struct(header), changed)])
