"""Parse lines of two integers, and count lines, at memory speed.

A general CSV reader spends its time on quoting, types and columns that edge lists lack, and cannot tell the row of a
fault.
"""

from __future__ import annotations

from daskgraphpart.kernels.compiled import kernel

NEWLINE, RETURN, SPACE, TAB, MINUS, PLUS, ZERO = 10, 13, 32, 9, 45, 43, 48
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
def parse_edges(content, delimiter, src, dst):  # type: ignore[no-untyped-def]
    """Parse lines of two integers in uint8 `content` into `src` and `dst`, int64 (rows,).

    Skips spaces (and tabs, unless they delimit) around numbers, blank lines, and anything after another delimiter
    behind the second number. Between tabs or commas no column may be empty: the next would take its place. Returns the
    rows parsed, or
    the number of the faulty row; the fault, or 0; and where the faulty line begins.
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
        if rows == src.size:
            return rows + 1, 0, line
        if delimiter == TAB:
            for j in range(line, i):
                if content[j] == TAB:
                    return rows, NOT_INTEGERS, line
        for column in range(2):
            negative = False
            if i < size and (content[i] == MINUS or content[i] == PLUS):
                negative = content[i] == MINUS
                i += 1
            first, value = i, 0
            while i < size:
                digit = content[i] - ZERO
                if digit < 0 or digit > 9:
                    break
                if value > LARGEST_BEFORE_DIGIT or (value == LARGEST_BEFORE_DIGIT and digit > 7):
                    return rows, TOO_LARGE, line
                value = value * 10 + digit
                i += 1
            if i == first:
                return rows, NOT_INTEGERS, line
            if column == 0:
                src[rows] = -value if negative else value
                while i < size and (content[i] == SPACE or content[i] == TAB) and content[i] != delimiter:
                    i += 1
                if i < size and content[i] == delimiter:
                    i += 1
                elif i == size or content[i] == NEWLINE or content[i] == RETURN:
                    return rows, MISSING_COLUMN, line
                else:
                    return rows, NOT_INTEGERS, line
                while i < size and (content[i] == SPACE or (content[i] == TAB and delimiter != TAB)):
                    i += 1
                if i == size or content[i] == NEWLINE or content[i] == RETURN:
                    return rows, MISSING_COLUMN, line
            else:
                dst[rows] = -value if negative else value
        while (
            i < size and (content[i] == SPACE or content[i] == TAB or content[i] == RETURN) and content[i] != delimiter
        ):
            i += 1
        if i < size and content[i] != NEWLINE:
            if content[i] != delimiter:
                return rows, NOT_INTEGERS, line
            while i < size and content[i] != NEWLINE:
                i += 1
        i += 1
        rows += 1
    return rows, 0, size
