"""Parse two columns of plain text lines: unsigned integers, no quotes, equal numbers of fields."""

from __future__ import annotations

from daskgraphpart.kernels.compiled import kernel

NEWLINE, SPACE, TAB, QUOTE, ZERO, MOST_DIGITS = 10, 32, 9, 34, 48, 18


@kernel
def parse_fields(content, delimiter, columns, num_fields, ends):  # type: ignore[no-untyped-def]
    """Parse lines of uint8 `content` into `ends`, int64 (2, rows or more): two columns, by number from 0.

    A space as delimiter means any run of spaces and tabs. Skips empty lines. Returns the rows parsed, or -1 if a line
    is not plain: quotes, blanks around numbers, signs, more or fewer fields, more than 18 digits.
    """
    rows, i, size, by_blanks = 0, 0, content.size, delimiter == SPACE
    while i < size:
        if content[i] == NEWLINE:
            i += 1
            continue
        while by_blanks and i < size and (content[i] == SPACE or content[i] == TAB):
            i += 1
        field = 0
        while True:
            first, value, is_number = i, 0, True
            while i < size:
                c = content[i]
                if c in (NEWLINE, delimiter) or (by_blanks and c == TAB):
                    break
                if c == QUOTE:
                    return -1
                if c < ZERO or c > ZERO + 9:
                    is_number = False
                else:
                    value = value * 10 + (c - ZERO)
                i += 1
            is_number = is_number and 0 < i - first <= MOST_DIGITS
            for end in range(2):
                if columns[end] == field:
                    if not is_number:
                        return -1
                    ends[end, rows] = value
            field += 1
            if by_blanks:
                while i < size and (content[i] == SPACE or content[i] == TAB):
                    i += 1
                if i == size or content[i] == NEWLINE:
                    break
            elif i == size or content[i] == NEWLINE:
                break
            else:
                i += 1
        if field != num_fields:
            return -1
        i += 1
        rows += 1
    return rows
