"""Lines of an edge list to numbers and back: the loops that read and write text.

A line is two names, and perhaps more that is not read. Names are split by one delimiter, or by any run of blanks; blanks and one
pair of double quotes around a name do not count.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.publish.graphs.compiled import compiled, inner

BLANKS = 0  # the delimiter that stands for any run of blanks
EDGE, LONGER, COMMENT, EMPTY, BAD = range(5)
NOT_A_NUMBER = -1
LONGEST_NUMBER = 18  # digits of a name that is kept as a number


@inner
def lines_in(text: Any) -> Any:
    """How many lines a block has, an unfinished last one included."""
    count = 0
    for place in range(len(text)):
        count += text[place] == 10
    return count + (len(text) > 0 and text[-1] != 10)


@compiled
def parse_lines(text: Any, delimiter: Any) -> Any:
    """For each line its kind, the places of its two names, and their numbers if they are written as numbers."""
    lines = lines_in(text)
    kinds, spans = np.empty(lines, np.uint8), np.zeros((lines, 4), np.int64)
    numbers = np.full((lines, 2), -1, np.int64)
    begin = 0
    for line in range(lines):
        end = begin
        while end < len(text) and text[end] != 10:
            end += 1
        kinds[line] = _kind(text, begin, end, delimiter, spans[line])
        if kinds[line] <= 1:
            numbers[line, 0] = _number(text, spans[line, 0], spans[line, 1])
            numbers[line, 1] = _number(text, spans[line, 2], spans[line, 3])
        begin = end + 1
    return kinds, spans, numbers


@inner
def _blank(byte: Any) -> Any:
    return byte == 32 or byte == 9 or byte == 13


@inner
def _kind(text: Any, begin: Any, end: Any, delimiter: Any, span: Any) -> Any:
    """EDGE, LONGER (with further columns), COMMENT, EMPTY or BAD; `span` receives the places of the two names."""
    while begin < end and _blank(text[begin]) and text[begin] != delimiter:
        begin += 1
    while end > begin and _blank(text[end - 1]) and text[end - 1] != delimiter:
        end -= 1
    if begin == end:
        return 3
    if text[begin] == 35 or text[begin] == 37 or (text[begin] == 47 and begin + 1 < end and text[begin + 1] == 47):  # # % //
        return 2
    first = _name_end(text, begin, end, delimiter)
    if first == end:
        return 4
    after = _next_name(text, first, end, delimiter)
    second = _name_end(text, after, end, delimiter)
    _trim(text, begin, first, span[:2])
    _trim(text, after, second, span[2:])
    if span[0] == span[1] or span[2] == span[3]:
        return 4
    return 0 if second == end else 1


@inner
def _name_end(text: Any, place: Any, end: Any, delimiter: Any) -> Any:
    while place < end and not (text[place] == delimiter if delimiter else _blank(text[place])):
        place += 1
    return place


@inner
def _next_name(text: Any, place: Any, end: Any, delimiter: Any) -> Any:
    if delimiter:
        return place + 1
    while place < end and _blank(text[place]):
        place += 1
    return place


@inner
def _trim(text: Any, begin: Any, end: Any, span: Any) -> None:
    while begin < end and _blank(text[begin]):
        begin += 1
    while end > begin and _blank(text[end - 1]):
        end -= 1
    if end - begin >= 2 and text[begin] == 34 and text[end - 1] == 34:
        begin, end = begin + 1, end - 1
    span[0], span[1] = begin, end


@inner
def _number(text: Any, begin: Any, end: Any) -> Any:
    """The number, if it is written in its only form, without leading zeros; else -1."""
    if end - begin > 18 or (text[begin] == 48 and end - begin > 1):
        return -1
    number = 0
    for place in range(begin, end):
        if text[place] < 48 or text[place] > 57:
            return -1
        number = number * 10 + (text[place] - 48)
    return number


@compiled
def join_names(text: Any, spans: Any) -> Any:
    """The names of some lines one after the other, first and second in turn, and where each begins."""
    offsets = np.zeros(2 * len(spans) + 1, np.int64)
    for line in range(len(spans)):
        offsets[2 * line + 1] = offsets[2 * line] + spans[line, 1] - spans[line, 0]
        offsets[2 * line + 2] = offsets[2 * line + 1] + spans[line, 3] - spans[line, 2]
    names = np.empty(offsets[-1], np.uint8)
    for line in range(len(spans)):
        for side in range(2):
            at = offsets[2 * line + side]
            for place in range(spans[line, 2 * side], spans[line, 2 * side + 1]):
                names[at] = text[place]
                at += 1
    return names, offsets


@compiled
def edges_to_text(left: Any, right: Any, delimiter: Any) -> Any:
    """The edges as text, one on each line."""
    text = np.empty(42 * len(left), np.uint8)
    digits, at = np.empty(20, np.uint8), 0
    for line in range(len(left)):
        for side in range(2):
            number, size = left[line] if side == 0 else right[line], 0
            while size == 0 or number > 0:
                digits[size] = 48 + number % 10
                number //= 10
                size += 1
            for place in range(size):
                text[at] = digits[size - 1 - place]
                at += 1
            text[at] = delimiter if side == 0 else 10
            at += 1
    return text[:at].copy()
