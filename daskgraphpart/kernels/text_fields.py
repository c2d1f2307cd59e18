"""Find the fields of chosen columns in lines of text, parse them as integers, and copy them out.

A general CSV reader cannot be cut at any byte, skips no comments, takes no runs of spaces, and does not say in which
line a fault is; these kernels do. Quotes are those of RFC 4180, except that a field ends with its line.
"""

from __future__ import annotations

import numpy as np
from numba import njit

NEWLINE, RETURN, SPACE, TAB, QUOTE, MINUS, PLUS, ZERO = 10, 13, 32, 9, 34, 45, 43, 48
RAGGED, OPEN_QUOTE, BAD_QUOTE = 1, 2, 3
PLAIN, QUOTED, DOUBLED = 0, 1, 2
CANONICAL, LOOSE, TOO_LARGE, EMPTY, TEXT = 0, 1, 2, 3, 4
LARGEST_BEFORE_DIGIT = 922_337_203_685_477_580  # 2**63 - 1 without its last digit, which is 7


@njit(cache=True, nogil=True)
def count_data_lines(content, comment):  # type: ignore[no-untyped-def]
    """Count the lines that are neither blank nor comments.

    Parameters
    ----------
    content : uint8 array (bytes,)
        Whole lines; the last may lack its newline.
    comment : int
        Byte that begins a comment; -1 if there are none.

    Returns
    -------
    int
    """
    lines, i, size = 0, 0, content.size
    while i < size:
        while i < size and (content[i] == SPACE or content[i] == TAB or content[i] == RETURN):
            i += 1
        if i < size and content[i] != NEWLINE and content[i] != comment:
            lines += 1
        while i < size and content[i] != NEWLINE:
            i += 1
        i += 1
    return lines


@njit(cache=True, nogil=True)
def split_fields(content, how, slots, starts, ends, marks):  # type: ignore[no-untyped-def]
    """Find the chosen fields of every line that is neither blank nor a comment.

    Parameters
    ----------
    content : uint8 array (bytes,)
        Whole lines; the last may lack its newline.
    how : tuple of three int
        Byte between fields (a space stands for any run of spaces and tabs), byte that begins a comment or -1, and the
        number of fields that each line must have.
    slots : int64 array (fields,)
        For each field of a line the row of the arrays below that it goes to, or -1.
    starts, ends : int32 arrays (chosen, rows)
        Filled with the first byte of each field and the one behind it, without quotes.
    marks : uint8 array (chosen, rows)
        Filled with `PLAIN`, `QUOTED`, or `DOUBLED` where quotes inside are doubled.

    Returns
    -------
    rows : int
        Rows found, or the number of the row with the fault.
    fault : int
        0, `RAGGED`, `OPEN_QUOTE` or `BAD_QUOTE`.
    offset : int
        Where the faulty line begins.
    fields : int
        How many fields it has.
    """
    delimiter, comment, num_fields = how
    blanks = delimiter == SPACE
    rows, i, size = 0, 0, content.size
    while i < size:
        line = i
        while i < size and (content[i] == SPACE or content[i] == TAB or content[i] == RETURN):
            i += 1
        first = i
        stop = i
        while stop < size and content[stop] != NEWLINE:
            stop += 1
        after = stop + 1
        if first == stop or content[first] == comment:
            i = after
            continue
        if content[stop - 1] == RETURN:
            stop -= 1
        if blanks:
            while content[stop - 1] == SPACE or content[stop - 1] == TAB:
                stop -= 1
        else:
            i = line
        field = 0
        while True:
            start, mark = i, PLAIN
            if i < stop and content[i] == QUOTE:
                mark = QUOTED
                i += 1
                start = i
                while i < stop and (content[i] != QUOTE or (i + 1 < stop and content[i + 1] == QUOTE)):
                    if content[i] == QUOTE:
                        mark = DOUBLED
                        i += 1
                    i += 1
                if i >= stop:
                    return rows, OPEN_QUOTE, line, field
                end = i
                i += 1
                if i < stop and content[i] != delimiter and not (blanks and content[i] == TAB):
                    return rows, BAD_QUOTE, line, field
            else:
                while i < stop and content[i] != delimiter and not (blanks and content[i] == TAB):
                    i += 1
                end = i
            if field < num_fields and slots[field] >= 0:
                starts[slots[field], rows] = start
                ends[slots[field], rows] = end
                marks[slots[field], rows] = mark
            field += 1
            if i >= stop:
                break
            i += 1
            while blanks and (content[i] == SPACE or content[i] == TAB):
                i += 1
        if field != num_fields:
            return rows, RAGGED, line, field
        rows += 1
        i = after
    return rows, 0, size, num_fields


@njit(cache=True, nogil=True)
def parse_integers(content, starts, ends, marks, values, kinds):  # type: ignore[no-untyped-def]
    """Parse fields as integers; spaces around them are skipped.

    Parameters
    ----------
    content : uint8 array (bytes,)
    starts, ends : int32 arrays (rows,)
    marks : uint8 array (rows,)
    values : int64 array (rows,)
        Filled where there is an integer.
    kinds : uint8 array (rows,)
        Filled with `CANONICAL` (as Python would print it), `LOOSE` (a plus sign, leading zeros), `TOO_LARGE`, `EMPTY`
        (nothing, not even quotes) or `TEXT`.
    """
    for row in range(starts.size):
        i, stop = starts[row], ends[row]
        while i < stop and (content[i] == SPACE or content[i] == TAB):
            i += 1
        while i < stop and (content[stop - 1] == SPACE or content[stop - 1] == TAB):
            stop -= 1
        if i == stop:
            kinds[row] = EMPTY if marks[row] == PLAIN else TEXT
            continue
        negative = content[i] == MINUS
        loose = content[i] == PLUS
        if negative or loose:
            i += 1
        loose = loose or (i + 1 < stop and content[i] == ZERO) or (negative and i < stop and content[i] == ZERO)
        kind, value = (LOOSE if loose else CANONICAL), np.int64(0)
        if i == stop:
            kind = TEXT
        for j in range(i, stop):
            digit = np.int64(content[j]) - ZERO
            if digit < 0 or digit > 9:
                kind = TEXT
                break
            limit = 8 if negative else 7
            if kind == TOO_LARGE:
                continue
            if value > LARGEST_BEFORE_DIGIT or (value == LARGEST_BEFORE_DIGIT and digit > limit):
                kind = TOO_LARGE
            else:
                value = value * 10 + digit
        values[row] = -value if negative else value  # -2**63 wraps to itself
        kinds[row] = kind


@njit(cache=True, nogil=True)
def field_offsets(content, starts, ends, marks, offsets):  # type: ignore[no-untyped-def]
    """Where each field begins once they are copied one behind the other.

    Parameters
    ----------
    content : uint8 array (bytes,)
    starts, ends : int32 arrays (rows,)
    marks : uint8 array (rows,)
    offsets : int64 array (rows + 1,)
        Filled.
    """
    offsets[0] = 0
    for row in range(starts.size):
        length = ends[row] - starts[row]
        if marks[row] == DOUBLED:
            doubled = 0
            for i in range(starts[row], ends[row]):
                if content[i] == QUOTE:
                    doubled += 1
            length -= doubled // 2
        offsets[row + 1] = offsets[row] + length


@njit(cache=True, nogil=True)
def copy_fields(content, starts, ends, marks, offsets, data):  # type: ignore[no-untyped-def]
    """Copy fields one behind the other; a doubled quote becomes one.

    Parameters
    ----------
    content : uint8 array (bytes,)
    starts, ends : int32 arrays (rows,)
    marks : uint8 array (rows,)
    offsets : int64 array (rows + 1,)
        As `field_offsets` fills it.
    data : uint8 array (bytes,)
        Filled.
    """
    for row in range(starts.size):
        place, i = offsets[row], starts[row]
        while i < ends[row]:
            data[place] = content[i]
            place += 1
            i += 2 if marks[row] == DOUBLED and content[i] == QUOTE else 1
