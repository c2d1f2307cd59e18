"""Parse two integers of each line, and count lines, at memory speed: for chunked graphs, and for tables of plain text.

A general CSV reader spends its time on quoting, types and columns that edge lists lack, and cannot tell the row of a
fault.
"""

from __future__ import annotations

from daskgraphpart.kernels.compiled import helper, kernel

NEWLINE, RETURN, SPACE, TAB, QUOTE, MINUS, PLUS, ZERO, PERCENT = 10, 13, 32, 9, 34, 45, 43, 48, 37
NOT_INTEGERS, MISSING_COLUMN, TOO_LARGE = 1, 2, 3
LARGEST_BEFORE_DIGIT = 922_337_203_685_477_580  # 2**63 - 1 without its last digit, 7


@kernel
def count_lines(content):  # type: ignore[no-untyped-def]
    """Count the lines of uint8 `content` that are not blank; the last may lack a newline."""
    lines, blank = 0, True
    for i in range(content.size):
        c = content[i]
        if c == NEWLINE:
            if not blank:
                lines += 1
            blank = True
        elif blank and c != SPACE and c != TAB and c != RETURN:
            blank = False
    return lines if blank else lines + 1


@kernel
def parse_edges(content, delimiter, columns, num_fields, first, second):  # type: ignore[no-untyped-def]
    """Parse lines of uint8 `content`: integers of two columns, by ascending number, into int64 (rows,) each.

    Skips spaces (and tabs, unless they delimit) around numbers, and blank lines. Between tabs or commas no column may
    be empty: the next would take its place. With `num_fields`, lines that have another number of fields, or quotes, are
    at fault; with 0, the columns are the first two, and what follows the second after another delimiter is skipped.

    Returns the rows parsed, or the number of the faulty row; the fault, or 0; and where the faulty line begins.
    """
    rows, i, size = 0, 0, content.size
    while i < size:
        line = i
        while i < size and (content[i] == SPACE or content[i] == TAB or content[i] == RETURN):
            i += 1
        if i < size and content[i] == NEWLINE:
            i += 1
            continue
        if i == size:
            break
        if rows == first.size:
            return rows + 1, 0, line
        if delimiter == TAB:
            for j in range(line, i):
                if content[j] == TAB:
                    return rows, NOT_INTEGERS, line
        field = 0
        for column in range(2):
            while field < columns[column]:
                i = _end_of_field(content, i, delimiter)
                if i < 0 or i == size or content[i] == NEWLINE:
                    return rows, NOT_INTEGERS if i < 0 else MISSING_COLUMN, line
                i = _skip_blanks(content, i + 1, delimiter)
                field += 1
            negative = False
            if i < size and (content[i] == MINUS or content[i] == PLUS):
                negative = content[i] == MINUS
                i += 1
            begin, value = i, 0
            while i < size:
                digit = content[i] - ZERO
                if digit < 0 or digit > 9:
                    break
                if value > LARGEST_BEFORE_DIGIT or (value == LARGEST_BEFORE_DIGIT and digit > 7):
                    return rows, TOO_LARGE, line
                value = value * 10 + digit
                i += 1
            if i == begin:
                return rows, NOT_INTEGERS, line
            field += 1
            if column == 0:
                first[rows] = -value if negative else value
                while i < size and (content[i] == SPACE or content[i] == TAB) and content[i] != delimiter:
                    i += 1
                if i < size and content[i] == delimiter:
                    i += 1
                elif i == size or content[i] == NEWLINE or content[i] == RETURN:
                    return rows, MISSING_COLUMN, line
                else:
                    return rows, NOT_INTEGERS, line
                i = _skip_blanks(content, i, delimiter)
                if i == size or content[i] == NEWLINE or content[i] == RETURN:
                    return rows, MISSING_COLUMN, line
            else:
                second[rows] = -value if negative else value
        while (
            i < size and (content[i] == SPACE or content[i] == TAB or content[i] == RETURN) and content[i] != delimiter
        ):
            i += 1
        if num_fields > 0:
            if content[i - 1] == RETURN and i < size and content[i] != NEWLINE:
                return rows, NOT_INTEGERS, line
            while i < size and content[i] == delimiter:
                i = _skip_blanks(content, i + 1, delimiter)
                if delimiter == SPACE and (i == size or content[i] == NEWLINE or content[i] == RETURN):
                    break
                field += 1
                i = _end_of_field(content, i, delimiter)
                if i < 0:
                    return rows, NOT_INTEGERS, line
            if field != num_fields:
                return rows, MISSING_COLUMN, line
            if i < size and content[i] == RETURN:
                i += 1
        if i < size and content[i] != NEWLINE:
            if num_fields > 0 or content[i] != delimiter:
                return rows, NOT_INTEGERS, line
            while i < size and content[i] != NEWLINE:
                i += 1
        i += 1
        rows += 1
    return rows, 0, size


@helper
def _skip_blanks(content, i, delimiter):  # type: ignore[no-untyped-def]
    while i < content.size and (content[i] == SPACE or (content[i] == TAB and delimiter != TAB)):
        i += 1
    return i


@helper
def _end_of_field(content, i, delimiter):  # type: ignore[no-untyped-def]
    """Where a delimiter or the line's end follows; -1 if quotes, another newline or another blank make that unsure."""
    while i < content.size and content[i] != delimiter and content[i] != NEWLINE:
        if content[i] == QUOTE or (content[i] == TAB and delimiter == SPACE):
            return -1
        if content[i] == RETURN and i + 1 < content.size and content[i + 1] != NEWLINE:
            return -1
        i += 1
    return i


@kernel
def parse_adjacency(content, form, state, arcs, weights, values, counts):  # type: ignore[no-untyped-def]
    """Parse lines of neighbours as in METIS' files, int64, from uint8 `content` that ends where no number goes on.

    `form` has the number of nodes, and of each line sizes to skip, weights of the node, and whether each neighbour has
    a weight. `state` is the node of the line, the fields parsed of it, and whether it is a comment; it is changed.
    `counts` become the numbers of arcs (both ends, from 0), their weights, and values of nodes that were written.
    Returns the fault: 0, no number, too large a number, or a line that ends before its weights.
    """
    num_nodes, num_skipped, num_extra, size = form[0], form[1], form[1] + form[2], content.size
    i = 0
    while i < size:
        c = content[i]
        if c == NEWLINE:
            of_arcs = state[1] - num_extra
            is_line = state[2] == 0 and (state[0] < num_nodes or state[1] > 0)
            if is_line and (of_arcs < 0 or (form[3] != 0 and of_arcs % 2 != 0)):
                return MISSING_COLUMN + 1
            if is_line:
                state[0] += 1
            state[1] = state[2] = 0
            i += 1
        elif state[2] != 0 or c in (SPACE, TAB, RETURN):
            i += 1
        elif c == PERCENT and state[1] == 0:
            state[2] = 1
        else:
            begin, value = i, 0
            while i < size and ZERO <= content[i] <= ZERO + 9:
                digit = content[i] - ZERO
                if value > LARGEST_BEFORE_DIGIT or (value == LARGEST_BEFORE_DIGIT and digit > 7):
                    return MISSING_COLUMN
                value = value * 10 + digit
                i += 1
            if i == begin:
                return NOT_INTEGERS
            field = state[1]
            if num_skipped <= field < num_extra:
                values[counts[2]] = value
                counts[2] += 1
            elif field >= num_extra and form[3] != 0 and (field - num_extra) % 2 == 1:
                weights[counts[1]] = value
                counts[1] += 1
            elif field >= num_extra:
                arcs[counts[0], 0] = state[0]
                arcs[counts[0], 1] = value - 1
                counts[0] += 1
            state[1] += 1
    return 0
