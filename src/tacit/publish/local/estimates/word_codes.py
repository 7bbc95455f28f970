"""Short words as codes, so that the frequent ones among all possible words can be found."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.errors import InvalidInput, InvalidValue

LETTERS = "abcdefghijklmnopqrstuvwxyz"
BLANK = "␣"


@dataclass(frozen=True, slots=True)
class Words:
    """All words of up to `length` letters of an alphabet; a code is the word in base letters + 1, filled up with blanks.

    Codes with a blank between letters are of no word; a false report may claim one, and it is shown with the blank.

    The first letters are the leading digits, so that words with a common beginning lie together in a tree of prefixes.

    >>> words = Words(length=7)
    >>> words.size, words.code("tacit"), words.word(words.code("tacit"))
    (10460353203, 7764544737, 'tacit')
    """

    length: int
    alphabet: str = LETTERS

    def __post_init__(self) -> None:
        whole = isinstance(self.length, int) and not isinstance(self.length, bool) and self.length >= 1
        if not whole or len(set(self.alphabet)) != len(self.alphabet) or not self.alphabet or BLANK in self.alphabet:
            raise InvalidInput(f"words require a length of at least 1 and an alphabet of distinct letters other than {BLANK}")

    @property
    def size(self) -> int:
        """How many codes there are."""
        return int((len(self.alphabet) + 1) ** self.length)

    def code(self, word: str) -> int:
        """The code of a word; longer ones count as their beginning, and a letter that is not in the alphabet is refused."""
        number = 0
        for letter in word[: self.length]:
            place = self.alphabet.find(letter)
            if place < 0:
                raise InvalidValue("the word contains a letter that is not in the alphabet")
            number = number * (len(self.alphabet) + 1) + place + 1
        return int(number * (len(self.alphabet) + 1) ** max(0, self.length - len(word)))

    def word(self, code: int) -> str:
        """The word of a code."""
        if not 0 <= code < self.size:
            raise InvalidInput(f"the code of a word must be from 0 to {self.size - 1}")
        letters = []
        for _ in range(self.length):
            code, place = divmod(code, len(self.alphabet) + 1)
            letters.append(self.alphabet[place - 1] if place else BLANK)
        return "".join(reversed(letters)).rstrip(BLANK)
