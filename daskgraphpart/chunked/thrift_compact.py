"""Read values in Thrift's compact protocol from bytes that may be anything.

Nothing is believed before it is compared with the bytes that are there: lengths of strings, counts of lists, depth,
digits of numbers. What a writer never makes is refused, since readers differ in what they take it for: a field that is
there twice, numbers with more bits than their kind has (pyarrow cuts them), kinds that do not exist. Memory is that of
the values that are asked for; time is proportional to the bytes.

Source: thrift-compact-protocol.md of Apache Thrift, 0.22.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
_NAMES = ("stop", "true", "false", "i8", "i16", "i32", "i64", "double", "binary", "list", "set", "map", "struct")
_BITS = {I16: 16, I32: 32, I64: 64}
_NBYTES = {TRUE: 1, FALSE: 1, BYTE: 1, DOUBLE: 8}  # of elements; of a field that is true or false, its kind says it
MOST_LEVELS = 32
MOST_FIELD = (1 << 15) - 1


class ThriftError(ValueError):
    """The bytes are not what they should be; `at` is the byte, counted from the first of the content."""

    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.at = at


class ThriftEndError(ThriftError):
    """The bytes end before the value does: there may be more of them."""


class CompactReader:
    """Reads values one after the other; every method raises `ThriftError` where they are not what they should be.

    Parameters
    ----------
    content : bytes
        What is read, from its first byte.
    """

    __slots__ = ("_content", "_levels", "at")

    def __init__(self, content: bytes) -> None:
        self._content, self.at, self._levels = content, 0, 0

    def fields(self) -> Iterator[tuple[int, int]]:
        """Numbers and kinds of the fields of a struct; each is read or skipped before the next is asked for."""
        self._enter()
        content, field, seen = self._content, 0, set()
        while True:
            at = self.at
            if at >= len(content):
                raise ThriftEndError("struct without end", at)
            head = content[at]
            self.at = at + 1
            if not head:
                break
            kind = head & 15
            if not 0 < kind <= STRUCT:
                raise ThriftError(f"field of kind {kind}", at)
            field = field + (head >> 4) if head >> 4 else self._signed(16)
            if not 0 < field <= MOST_FIELD or field in seen:
                raise ThriftError(f"field {field} twice" if field in seen else f"field {field}", at)
            seen.add(field)
            yield field, kind
        self._levels -= 1

    def i32(self, kind: int) -> int:
        """An integer of 32 bits."""
        self._expect(kind, I32)
        return self._signed(32)

    def i64(self, kind: int) -> int:
        """An integer of 64 bits."""
        self._expect(kind, I64)
        return self._signed(64)

    def u32(self) -> int:
        """An unsigned integer of 32 bits, which only pages have, outside of structs."""
        return self._number(32)

    def binary(self, kind: int) -> bytes:
        """A string."""
        self._expect(kind, BINARY)
        length = self._length(1, "string")
        self.at += length
        return self._content[self.at - length : self.at]

    def structs(self, kind: int, least_nbytes: int) -> range:
        """Read the head of a list of structs that have so many bytes at least; as many are to be read."""
        self._expect(kind, LIST)
        count, of = self._head(least_nbytes)
        self._expect(of if count else STRUCT, STRUCT)
        return range(count)

    def struct(self, kind: int) -> Iterator[tuple[int, int]]:
        """Fields of a struct that is a field."""
        self._expect(kind, STRUCT)
        return self.fields()

    def integers(self, kind: int, wanted: Mapping[int, int]) -> dict[int, int]:
        """Integers of a struct that is a field, by the numbers of their fields.

        Parameters
        ----------
        kind : int
            That of the field.
        wanted : mapping of int to int
            Kinds by the numbers of fields: `I32`, `I64`, or `TRUE` for what is true or false; others are passed over.
        """
        self._expect(kind, STRUCT)
        self._enter()
        found = self._integers(wanted)
        self._levels -= 1
        return found

    def _integers(self, wanted: Mapping[int, int]) -> dict[int, int]:
        """Do so to the end of the struct; most of a footer is passed over here, hence one loop for frequent kinds."""
        content, at, end = self._content, self.at, len(self._content)
        field = 0
        found: dict[int, int] = {}
        while at < end:
            head = content[at]
            kind = head & 15
            at += 1
            if not head:
                self.at = at
                return found
            self.at = at
            field = field + (head >> 4) if head > 15 else self._signed(16)
            at = self.at
            if not (0 < kind <= STRUCT and 0 < field <= MOST_FIELD) or field in found:
                raise ThriftError(f"field {field} twice" if field in found else f"field {field} of kind {kind}", at)
            if field in wanted and kind == FALSE:
                self._expect(TRUE, wanted[field])
                found[field] = 0
            elif field in wanted:
                self._expect(kind, wanted[field])
                found[field] = 1 if kind == TRUE else self._signed(_BITS[kind])
                at = self.at
            elif I16 <= kind <= I64:
                while at < end and content[at] > 127:
                    at += 1
                at += 1
            elif kind == BINARY and at < end and content[at] < 128:
                at += content[at] + 1
            elif kind > FALSE:
                self.skip(kind)
                at = self.at
        raise ThriftEndError("struct without end", end)

    def skip(self, kind: int) -> None:
        """Pass over a field, of which only the length matters."""
        if kind in _BITS:
            self._number(64)  # readers may cut what is not used
        elif kind == BINARY:
            length = self._length(1, "string")  # first, since it moves `at` itself
            self.at += length
        elif kind in (BYTE, DOUBLE):
            self._pass(_NBYTES[kind])
        elif kind > DOUBLE:
            self._enter()
            if kind == STRUCT:
                self._integers({})
            elif kind == MAP:
                self._skip_map()
            else:
                self._skip_items(*self._head(1))
            self._levels -= 1

    def _skip_items(self, count: int, kind: int) -> None:
        if kind in _NBYTES:
            self._pass(count * _NBYTES[kind])
            return
        for _ in range(count):
            self.skip(kind)

    def _skip_map(self) -> None:
        count = self._length(2, "map")
        if not count:
            return
        kinds = self._byte()
        for _ in range(count):
            for kind in (kinds >> 4, kinds & 15):
                self._skip_items(1, self._known(kind))

    def _head(self, least_nbytes: int) -> tuple[int, int]:
        """Count and kind of the elements of a list."""
        head = self._byte()
        count, kind = head >> 4, head & 15
        if count == 15:
            count = self._length(least_nbytes, "list")
        elif count * least_nbytes > len(self._content) - self.at:
            raise ThriftEndError(f"list of {count}", self.at)
        return count, self._known(kind) if count else kind

    def _known(self, kind: int) -> int:
        if not 0 < kind <= STRUCT:
            raise ThriftError(f"elements of kind {kind}", self.at - 1)
        return kind

    def _length(self, nbytes_each: int, what: str) -> int:
        """A length or count, for which there are enough bytes."""
        at = self.at
        length = self._number(32)
        if length >= 1 << 31:
            raise ThriftError(f"{what} of negative length", at)
        if length * nbytes_each > len(self._content) - self.at:
            raise ThriftEndError(f"{what} of {length:,}", at)
        return length

    def _signed(self, bits: int) -> int:
        number = self._number(bits)
        return (number >> 1) ^ -(number & 1)

    def _number(self, bits: int) -> int:
        """Read an unsigned number of so many bits."""
        content, at = self._content, self.at
        if at < len(content) and content[at] < 128:  # most are of one byte
            self.at = at + 1
            return content[at]
        number = shift = 0
        while at < len(content):
            byte = content[at]
            at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128 and not number >> bits:
                self.at = at
                return number
            if byte < 128 or shift >= bits:
                raise ThriftError(f"number of more than {bits} bits", self.at)
        raise ThriftEndError("number without end", self.at)

    def _byte(self) -> int:
        self._pass(1)
        return self._content[self.at - 1]

    def _pass(self, nbytes: int) -> None:
        if nbytes > len(self._content) - self.at:
            raise ThriftEndError("value without end", self.at)
        self.at += nbytes

    def _enter(self) -> None:
        self._levels += 1
        if self._levels > MOST_LEVELS:
            raise ThriftError("nested too deeply", self.at)

    def _expect(self, kind: int, expected: int) -> None:
        if kind != expected:
            raise ThriftError(f"{_NAMES[kind]} where {_NAMES[expected]} is expected", self.at)
