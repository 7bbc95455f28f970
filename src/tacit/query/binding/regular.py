r"""Regular expressions in the syntax of RE2 (Cox 2010), from a text to a tree; patterns.py matches it, without backtracking.

Scripts (`\p{Greek}`) and single bytes (`\C`) are not supported: Python has no tables of scripts, and a text has no bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from unicodedata import category

from tacit.errors import InvalidSQL, NotAllowed

MOST_REPEATED = 1_000  # of one {n,m}, and of several inside each other: as in RE2
DEEPEST = 60  # groups inside each other

PERL = {"d": ((48, 57),), "s": ((9, 10), (12, 13), (32, 32)), "w": ((48, 57), (65, 90), (95, 95), (97, 122))}
POSIX = {
    "alnum": ((48, 57), (65, 90), (97, 122)), "alpha": ((65, 90), (97, 122)), "ascii": ((0, 127),), "blank": ((9, 9), (32, 32)),
    "cntrl": ((0, 31), (127, 127)), "digit": ((48, 57),), "graph": ((33, 126),), "lower": ((97, 122),), "print": ((32, 126),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)), "space": ((9, 13), (32, 32)), "upper": ((65, 90),), "word": PERL["w"],
    "xdigit": ((48, 57), (65, 70), (97, 102)),
}  # fmt: skip
CATEGORIES = frozenset({
    "C", "Cc", "Cf", "Cs", "Co", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl", "No", "P", "Pc", "Pd",
    "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs",
})  # fmt: skip
CONTROLS = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
OCTAL, HEX, DIGITS = frozenset("01234567"), frozenset("0123456789abcdefABCDEF"), frozenset("0123456789")
LAST = 0x10FFFF
BEGIN_TEXT, END_TEXT, BEGIN_LINE, END_LINE, BOUNDARY, NO_BOUNDARY = (1 << bit for bit in range(6))

Ranges = tuple[tuple[int, int], ...]


def _invalid() -> InvalidSQL:
    return InvalidSQL("invalid regular expression", remedy="write one that RE2 reads, such as '^(north|south)$'")


def too_much(what: str) -> NotAllowed:
    return NotAllowed(f"the regular expression {what}", remedy="write fewer or smaller repetitions, or list the values with IN")


# --- sets of characters ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kind:
    """Characters of some ranges, or of a general category of Unicode; with `fold`, whatever their case. `out` is all others."""

    ranges: Ranges = ()
    category: str = ""
    fold: bool = False
    out: bool = False

    def holds(self, symbol: str) -> bool:
        return self.out is not any(map(self._has, _same_letters(symbol) if self.fold else symbol))

    def _has(self, symbol: str) -> bool:
        if self.category:
            letters = category(symbol)
            return letters != "Cn" and letters.startswith(self.category)  # RE2 counts no unassigned letter in C
        code = ord(symbol)
        return any(low <= code <= high for low, high in self.ranges)


@cache
def _cases() -> dict[str, str]:
    """Letters that differ in case alone, by the one that Unicode folds them to."""
    cases: dict[str, str] = {}
    for symbol in map(chr, range(0x1E944)):  # no letter beyond has two cases
        if (folded := _fold(symbol)) != symbol:
            cases[folded] = cases.get(folded, folded) + symbol
    return cases


def _fold(symbol: str) -> str:
    """The simple case folding of Unicode: one letter for one letter."""
    return next((one for one in (symbol.casefold(), symbol.lower()) if len(one) == 1), symbol)


def _same_letters(symbol: str) -> str:
    folded = _fold(symbol)
    return _cases().get(folded, symbol)


# --- from a text to a tree -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class One:
    """One character of any of the kinds; of none of them if `out`."""

    kinds: tuple[Kind, ...]
    out: bool = False

    def holds(self, symbol: str) -> bool:
        return self.out is not any(kind.holds(symbol) for kind in self.kinds)


@dataclass(frozen=True, slots=True)
class Place:
    """A place between characters."""

    what: int


@dataclass(frozen=True, slots=True)
class Row:
    """One after the other."""

    parts: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Either:
    """Any of several."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A repetition from `least` to `most` times; `most` is None for any number."""

    part: Node
    least: int
    most: int | None


Node = One | Place | Row | Either | Repeat
ANY = Kind(((0, LAST),))


@dataclass(frozen=True, slots=True)
class Flags:
    """The changes of (?i), (?m) and (?s); U changes which match is found, and not whether there is one."""

    i: bool = False
    m: bool = False
    s: bool = False
    U: bool = False


@dataclass(slots=True)
class Parser:
    """Reads a pattern from left to right."""

    text: str
    at: int = 0
    flags: Flags = Flags()
    depth: int = 0

    def whole(self) -> Node:
        tree = self._either()
        if self.at < len(self.text):
            raise _invalid()
        return tree

    def _either(self) -> Node:
        """Up to the end, or to the bracket that closes; flags that are set inside end there."""
        before, rows, repeated = self.flags, [list[Node]()], False
        while self.at < len(self.text) and self.text[self.at] != ")":
            row = rows[-1]
            if self._takes("|"):
                rows.append([])
                repeated = False
            elif (times := self._times()) is not None:
                if not row or repeated:
                    raise _invalid()
                row[-1], repeated = self._repeat(row[-1], *times), True
            else:
                row += self._next()
                repeated = False
        self.flags = before
        parts = tuple(Row(tuple(row)) for row in rows)
        return parts[0] if len(parts) == 1 else Either(parts)

    def _takes(self, wanted: str) -> bool:
        is_next = self.text.startswith(wanted, self.at)
        self.at += len(wanted) if is_next else 0
        return is_next

    def _symbol(self) -> str:
        if self.at >= len(self.text):
            raise _invalid()
        self.at += 1
        return self.text[self.at - 1]

    def _times(self) -> tuple[int, int | None] | None:
        """How often what stands before is repeated; None if no repetition is written here."""
        signs: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        begun, ends = self.at, signs.get(self.text[self.at])
        if ends is not None:
            self.at += 1
        elif self._takes("{"):
            least = self._number()
            most = least if least is None or not self._takes(",") else (self._number() if self._digit() else -1)
            if least is None or most is None or not self._takes("}"):
                self.at = begun
                return None  # a bracket like any other character
            ends = (least, None if most == -1 else most)
        else:
            return None
        self._takes("?")
        return ends

    def _digit(self) -> bool:
        return self.text[self.at : self.at + 1] in DIGITS

    def _number(self) -> int | None:
        begun = self.at
        while self._digit():
            self.at += 1
        digits = self.text[begun : self.at]
        return None if not digits or len(digits) > 9 or (digits[0] == "0" and len(digits) > 1) else int(digits)

    def _repeat(self, part: Node, least: int, most: int | None) -> Node:
        if least > MOST_REPEATED or (most is not None and (most > MOST_REPEATED or most < least)):
            raise _invalid()
        repeat = Repeat(part, least, most)
        if max(least, most or 0) >= 2 and not _room(repeat, MOST_REPEATED):
            raise _invalid()
        return repeat

    def _next(self) -> list[Node]:
        """The node that stands here; nothing for flags."""
        symbol = self._symbol()
        if symbol == "(":
            return self._group()
        if symbol == "[":
            return [self._among()]
        if symbol == "\\":
            return self._escape()
        if symbol == ".":
            return [One((ANY,) if self.flags.s else (Kind(((0, 9), (11, LAST))),))]
        if symbol in "^$":
            of_line = (BEGIN_LINE, END_LINE) if self.flags.m else (BEGIN_TEXT, END_TEXT)
            return [Place(of_line[symbol == "$"])]
        return [self._letter(ord(symbol))]

    def _letter(self, code: int) -> Node:
        return One((Kind(((code, code),), fold=self.flags.i),))

    def _group(self) -> list[Node]:
        before = self.flags
        if self._takes("?"):
            if self._takes("P<"):
                self._read_name()
            elif not self._flags():
                return []
        self.depth += 1
        if self.depth > DEEPEST:
            raise too_much(f"has more than {DEEPEST} groups inside each other")
        inside = self._either()
        self.depth -= 1
        if not self._takes(")"):
            raise _invalid()
        self.flags = before
        return [inside]

    def _read_name(self) -> None:
        name, closed, _ = self.text[self.at :].partition(">")
        if not closed or not all(symbol == "_" or symbol.isalnum() for symbol in name) or not name:
            raise _invalid()
        self.at += len(name) + 1

    def _flags(self) -> bool:
        """Read flags; whether a group follows them, and not what is left of the one around it."""
        wanted, said = True, 0
        while (symbol := self._symbol()) not in ":)":
            if symbol == "-" and wanted:
                wanted, said = False, 0
            elif symbol in Flags.__slots__:
                self.flags, said = replace(self.flags, **{symbol: wanted}), said + 1
            else:
                raise _invalid()
        if not said and not wanted:
            raise _invalid()
        return symbol == ":"

    # --- escapes and classes ---------------------------------------------------------------------------------------------------

    def _escape(self) -> list[Node]:
        places = {"A": BEGIN_TEXT, "z": END_TEXT, "b": BOUNDARY, "B": NO_BOUNDARY}
        symbol = self.text[self.at : self.at + 1]
        if symbol in places:
            self.at += 1
            return [Place(places[symbol])]
        if symbol == "Q":
            quoted, end, _ = self.text[self.at + 1 :].partition("\\E")
            self.at += 1 + len(quoted) + len(end)
            return [self._letter(ord(each)) for each in quoted]
        kind = self._kind()
        return [self._letter(self._code()) if kind is None else One((kind,))]

    def _kind(self) -> Kind | None:
        """A class that is written with a backslash, which was read; None for a character."""
        symbol = self.text[self.at : self.at + 1]
        if symbol.lower() in PERL and symbol:
            self.at += 1
            return Kind(PERL[symbol.lower()], fold=self.flags.i, out=symbol.isupper())
        if symbol not in ("p", "P"):
            return None
        self.at += 1
        name = self._symbol()
        if name == "{":
            name, closed, _ = self.text[self.at :].partition("}")
            if not closed:
                raise _invalid()
            self.at += len(name) + 1
        out, name = (symbol == "P") is not name.startswith("^"), name.removeprefix("^")
        if name == "Any":
            return replace(ANY, out=out)
        if name not in CATEGORIES:
            raise _invalid()
        return Kind(category=name, fold=self.flags.i, out=out)

    def _code(self) -> int:
        """The character that an escape stands for."""
        symbol = self._symbol()
        if symbol in CONTROLS:
            return CONTROLS[symbol]
        following = self.text[self.at : self.at + 1]
        if symbol == "0" or (symbol in OCTAL and following in OCTAL and following):
            return int(symbol + self._up_to(2, OCTAL), 8)
        if symbol == "x":
            braced = self._takes("{")
            digits = self._up_to(8 if braced else 2, HEX)
            if (not digits if braced else len(digits) != 2) or (braced and not self._takes("}")) or int(digits, 16) > LAST:
                raise _invalid()
            return int(digits, 16)
        if ord(symbol) >= 128 or symbol.isalnum():
            raise _invalid()
        return ord(symbol)

    def _up_to(self, most: int, allowed: frozenset[str]) -> str:
        begun = self.at
        while self.at - begun < most and self.text[self.at : self.at + 1] in allowed:
            self.at += 1
        return self.text[begun : self.at]

    def _among(self) -> One:
        """A class in square brackets; the first bracket is read already."""
        out, kinds, first = self._takes("^"), list[Kind](), True
        while first or not self._takes("]"):
            first = False
            kind = self._posix()
            if kind is None and self._takes("\\"):
                kind = self._kind()
                self.at -= kind is None
            kinds.append(self._range() if kind is None else kind)
        return One(_join(kinds), out)

    def _posix(self) -> Kind | None:
        if not self.text.startswith("[:", self.at) or (end := self.text.find(":]", self.at + 2)) < 0:
            return None
        name = self.text[self.at + 2 : end]
        if name.removeprefix("^") not in POSIX:
            raise _invalid()
        self.at = end + 2
        return Kind(POSIX[name.removeprefix("^")], fold=self.flags.i, out=name.startswith("^"))

    def _range(self) -> Kind:
        low = high = self._one()
        following = self.text[self.at : self.at + 2]
        if len(following) == 2 and following[0] == "-" and following[1] != "]":
            self.at += 1
            high = self._one()
        if high < low:
            raise _invalid()
        return Kind(((low, high),), fold=self.flags.i)

    def _one(self) -> int:
        return self._code() if self._takes("\\") else ord(self._symbol())


def _join(kinds: list[Kind]) -> tuple[Kind, ...]:
    """The same characters in fewer kinds: all ranges of either case are one."""
    plain = {fold: [kind for kind in kinds if kind.ranges and not kind.out and kind.fold is fold] for fold in (False, True)}
    one = [Kind(tuple(sorted({pair for kind in some for pair in kind.ranges})), fold=fold) for fold, some in plain.items() if some]
    return (*one, *(kind for kind in kinds if kind not in plain[kind.fold]))


def _room(node: Node, most: int) -> int:
    """The rest of the limit of repetitions in the innermost of them; 0 if there are too many."""
    if isinstance(node, Repeat):
        most //= max(1, node.least if node.most is None else node.most)
    parts = (node.part,) if isinstance(node, Repeat) else node.parts if isinstance(node, Row | Either) else ()
    return min((_room(part, most) for part in parts), default=most)
