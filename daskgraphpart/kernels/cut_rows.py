"""Cut text into rows and fields, quoted ones as in RFC 4180, and copy fields into columns of strings."""

from __future__ import annotations

from daskgraphpart.kernels.compiled import inlined, kernel

NEWLINE, RETURN, SPACE, TAB, QUOTE = 10, 13, 32, 9, 34
MAX_ROW_BYTES = 1 << 20
SOUND, TOO_LITTLE, TOO_LONG, QUOTES, FIELDS = range(5)
"""What ended the rows: nothing, a row that is not whole, too long, with quotes that do not match, of other fields."""
STATE, PLACE, NUM_FIELDS, LINE = range(4)


@inlined
def _after_newline(content, i):  # type: ignore[no-untyped-def]
    return i + 2 if content[i] == RETURN and i + 1 < content.size and content[i + 1] == NEWLINE else i + 1


@kernel
def cut_rows(content, start, is_last, by_blanks, stops, num_fields, columns, bounds, lines, outcome):  # type: ignore[no-untyped-def]
    """Cut rows of uint8 `content` from byte `start`; return how many.

    `stops`, bool (256,): bytes that end a field. A row has `num_fields` fields, or any number if that is 0. The first
    and last byte of field i, with its quotes, go to row ``columns[i]`` of `bounds`, int32 (columns, rows, 2), unless
    that is -1; the line of each row, from 0, to `lines`. A newline is LF, CRLF or CR; blank lines are no rows. With
    `by_blanks`, spaces and tabs around a row do not count, and any run of them delimits. Unless the content `is_last`,
    what it ends with may go on.

    `outcome`, int64 (4,), gets what ended the rows, the place after them, the last one's fields, and the line there.
    """
    size, rows, line, i = content.size, 0, 0, start
    outcome[STATE], outcome[NUM_FIELDS] = SOUND, 0
    while rows < lines.size and start < size:
        i = start
        while i < size and (content[i] == SPACE or content[i] == TAB):
            i += 1
        if i == size or content[i] == NEWLINE or content[i] == RETURN:
            if not is_last and i + 1 >= size:  # CRLF, perhaps
                outcome[STATE] = TOO_LITTLE
                break
            start = i if i == size else _after_newline(content, i)
            line += 1
            continue
        if not by_blanks:
            i = start
        field, passed, is_sound = 0, 0, True
        while True:
            first = i
            if i < size and content[i] == QUOTE:
                i += 1
                while i < size:
                    c = content[i]
                    if c == QUOTE:
                        if i + 1 == size or content[i + 1] != QUOTE:
                            break
                        i += 1
                    elif c == NEWLINE or (c == RETURN and i + 1 < size and content[i + 1] != NEWLINE):
                        passed += 1
                    i += 1
                is_sound = i < size and (i + 1 == size or stops[content[i + 1]])
                i += 1
                if not is_sound:
                    break
            else:
                while i < size and not stops[content[i]]:
                    i += 1
            if field < columns.size and columns[field] >= 0:
                bounds[columns[field], rows, 0] = first
                bounds[columns[field], rows, 1] = i
            field += 1
            while by_blanks and i < size and (content[i] == SPACE or content[i] == TAB):
                i += 1
            if i >= size or content[i] == NEWLINE or content[i] == RETURN:
                break
            if not by_blanks:
                i += 1
        outcome[NUM_FIELDS] = field
        if i - start > MAX_ROW_BYTES:
            outcome[STATE] = TOO_LONG
        elif not is_last and i + 1 >= size:
            outcome[STATE] = TOO_LITTLE
        elif not is_sound:
            outcome[STATE] = QUOTES
        elif num_fields > 0 and field != num_fields:
            outcome[STATE] = FIELDS
        if outcome[STATE] != SOUND:
            break
        lines[rows] = line
        line += passed + 1
        start = i if i >= size else _after_newline(content, i)
        rows += 1
    outcome[PLACE], outcome[LINE] = start, line
    return rows


@kernel
def copy_fields(content, bounds, offsets, is_there, data):  # type: ignore[no-untyped-def]
    """Copy fields without their quotes to uint8 `data`, one after another; `offsets`, int32 (rows + 1,), tell where.

    `bounds`, int32 (rows, 2), are of a column; `is_there`, bool (rows,), becomes false where it is blank.
    """
    at = 0
    offsets[0] = 0
    for row in range(bounds.shape[0]):
        first, last, is_quoted = bounds[row, 0], bounds[row, 1], False
        if first < last and content[first] == QUOTE:
            is_quoted = True
            i = first + 1
            while i < last - 1:
                data[at] = content[i]
                at += 1
                i += 2 if content[i] == QUOTE else 1
        is_there[row] = is_quoted
        if not is_quoted:
            for i in range(first, last):
                data[at + i - first] = content[i]
                if content[i] != SPACE and content[i] != TAB:
                    is_there[row] = True
            if is_there[row]:
                at += last - first
        offsets[row + 1] = at
