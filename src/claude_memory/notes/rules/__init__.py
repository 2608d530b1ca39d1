"""The small language that trigger rules are written in, and which languages there are.

A rule is a row of words: `we|i will ~see *`. An element is a word, words apart by `|`, a family of words
(`@name`, from the language's FAMILIES), an ending (`-ed`), or one of these:

    ^    the start of a clause     ^^   the start of the sentence       $   the end of a clause
    *    any word                  ..   up to six words of the clause   ...  anything up to the end
    =id  a name, path or id        =num a number or a version           =ver  a number with a dot
    =url an address                =path, =dash a word with / or -      =plural  a word that ends in s
    x?   maybe x                   ~x   not x; the next element looks at the same word

After `!!` stand, apart by `;`, the rows that make it something else. To add a language, copy `en`, put its
own words in, name it in LANGUAGES, and give it weights (see `weighing`).
A row is read only when one of its words was said: a hook has no time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

LANGUAGES = ("en",)
STOPS = frozenset(",:—()")
NEAR = 6
FAR = 40

_SIGNS = frozenset(("^", "^^", "$", "..", "..."))
_NO_CUE = "*=-~?$.^"
_DEAR = 20
_NEVER = 1_000

Families = Mapping[str, frozenset[str]]


class Element:
    """One place of a rule: what may stand there."""

    __slots__ = ("endings", "ends", "negated", "optional", "sign", "tests", "words")

    def __init__(self, part: str, families: Families) -> None:
        self.sign = part if part in _SIGNS else ""  # or nothing: a word
        self.ends, self.optional, self.negated = False, part[-1] == "?", part[0] == "~"
        words: set[str] = set(families["openers"]) if part == "^" else set()
        endings: list[str] = []
        tests: list[Callable[[str], bool]] = []
        for word in () if self.sign else part.strip("?~").split("|"):
            if word[0] == "@":
                words |= families[word[1:]]
            elif word[0] == "-" and len(word) > 1:
                endings.append(word[1:])
            elif word == "$":
                self.ends = True
            elif word in TESTS:
                tests.append(TESTS[word])
            else:
                words.add(word)
        self.words, self.endings, self.tests = frozenset(words), tuple(endings), tuple(tests)


class Vocabulary:
    """A language's families of words; elements are the same in many rows."""

    __slots__ = ("costs", "elements", "families")

    def __init__(self, families: Families) -> None:
        self.families = families
        self.costs: dict[str, int] = {}
        self.elements: dict[str, Element] = {}

    def rules(self, text: str) -> Rules:
        """The rules of a block of text, a row a line."""
        return Rules(text, self)

    def element(self, part: str) -> Element:
        """One place of a row, read once."""
        found = self.elements.get(part)
        if found is None:
            found = self.elements[part] = Element(part, self.families)
        return found


class Rules:
    """Some rows, found by the words they need."""

    def __init__(self, text: str, words: Vocabulary) -> None:
        self._words = words
        self._rows = [row.strip() for row in text.splitlines() if row.strip()]
        self._read: dict[int, tuple[tuple[Element, ...], Rules | None]] = {}
        self._by_word: dict[str, list[int]] | None = None
        self._by_family: list[tuple[frozenset[str], int]] = []
        self._always: list[int] = []

    def places(self, words: Sequence[str], present: frozenset[str]) -> list[int]:
        """Where rows fit a sentence: the place of the first word of each."""
        found = (self._place(number, words, present) for number in self._candidates(present))
        return [place for place in found if place >= 0]

    def fit(self, words: Sequence[str], present: frozenset[str]) -> bool:
        """Whether any row does."""
        return any(self._place(number, words, present) >= 0 for number in self._candidates(present))

    def rows(self) -> list[str]:
        """The rows as they were written; every one of them can be read."""
        for number in range(len(self._rows)):
            self._elements(number)
        return list(self._rows)

    def _candidates(self, present: frozenset[str]) -> list[int]:
        if self._by_word is None:
            self._by_word = self._indexed()
        found = {number for word in present for number in self._by_word.get(word, ())}
        found.update(number for family, number in self._by_family if not family.isdisjoint(present))
        return sorted(found.union(self._always))

    def _indexed(self) -> dict[str, list[int]]:
        index: dict[str, list[int]] = {}
        for number, row in enumerate(self._rows):
            cue = _cue(row, self._words)
            if not cue:
                self._always.append(number)
            elif cue[0] == "@":
                self._by_family.append((self._words.families[cue[1:]], number))
            else:
                for word in cue.split("|"):
                    index.setdefault(word, []).append(number)
        return index

    def _place(self, number: int, words: Sequence[str], present: frozenset[str]) -> int:
        elements, unless = self._elements(number)
        starts = _starts(elements[0], words)
        place = next((start for start in starts if _fits(elements, 0, words, start)), -1)
        return -1 if place >= 0 and unless is not None and unless.fit(words, present) else place

    def _elements(self, number: int) -> tuple[tuple[Element, ...], Rules | None]:
        if number not in self._read:
            row, _, vetoes = self._rows[number].partition("!!")
            unless = Rules(vetoes.replace(";", "\n"), self._words) if vetoes else None
            self._read[number] = tuple(map(self._words.element, row.split())), unless
        return self._read[number]


def _cue(row: str, words: Vocabulary) -> str:
    """The element of which a word must be said: the first without common words, or that with the fewest."""
    best, least = "", _NEVER
    for part in row.partition("!!")[0].split():
        if part[0] in _NO_CUE or part[-1] in "?$":
            continue
        cost = words.costs.get(part)
        if cost is None:
            cost = words.costs[part] = _cost(part, words)
        if cost < least:
            best, least = part, cost
            if cost < _DEAR:
                break
    return best


def _cost(part: str, words: Vocabulary) -> int:
    if part[0] == "@":
        return _NEVER if "|" in part else _DEAR
    if "|@" in part or "|-" in part or "|=" in part or "|$" in part or "|*" in part:
        return _NEVER  # it stands for more than its words
    common = words.families["common"]
    if "|" not in part:
        return 1 + _DEAR * (part in common)
    alternatives = part.split("|")
    if common.isdisjoint(alternatives):
        return len(alternatives)
    return len(alternatives) + _DEAR * sum(word in common for word in alternatives)


def _starts(first: Element, words: Sequence[str]) -> Sequence[int]:
    """The places worth a try: a long sentence has many, and most rows begin with a word it has once."""
    if first.sign == "^^":
        return (0,)
    if first.sign == "^":
        openers = first.words
        return [
            at for at in range(len(words)) if not at or words[at - 1] in openers or words[at - 1] in STOPS
        ]
    if first.sign or first.negated or first.optional or first.endings or first.tests or first.ends:
        return range(len(words))
    return [at for at, word in enumerate(words) if word in first.words]


def _fits(elements: Sequence[Element], place: int, words: Sequence[str], at: int) -> bool:
    while place < len(elements):
        element = elements[place]
        place += 1
        if element.sign in ("..", "..."):
            return _after_gap(element.sign, elements, place, words, at)
        if element.sign or element.negated:
            if not _stands(element, words, at):
                return False
        elif at < len(words) and _is(element, words[at]):
            if element.optional and _fits(elements, place, words, at):
                return True
            at += 1
        elif not (element.optional or (element.ends and _ended(words, at))):
            return False
    return True


def _stands(element: Element, words: Sequence[str], at: int) -> bool:
    """What takes no word: where a clause or a sentence begins or ends, and what must not follow."""
    if element.negated:
        return at == len(words) or not _is(element, words[at])
    if element.sign == "$":
        return _ended(words, at)
    return at == 0 or (element.sign == "^" and (words[at - 1] in element.words or words[at - 1] in STOPS))


def _after_gap(sign: str, elements: Sequence[Element], place: int, words: Sequence[str], at: int) -> bool:
    for end in range(at, min(at + (NEAR if sign == ".." else FAR), len(words)) + 1):
        if _fits(elements, place, words, end):
            return True
        if sign == ".." and end < len(words) and words[end] in STOPS:
            return False
    return False


def _ended(words: Sequence[str], at: int) -> bool:
    return at == len(words) or words[at] in STOPS


def _is(element: Element, word: str) -> bool:
    if word in element.words or (element.endings and len(word) > 4 and word.endswith(element.endings)):
        return True
    return bool(element.tests) and any(test(word) for test in element.tests)


def is_name(word: str) -> bool:
    """A name no dictionary has: a path, an address, an id, code."""
    if word[0] == "`" or "_" in word or "://" in word:
        return True
    if word[0] == "#" or (word.count("-") > 1 and "'" not in word):
        return len(word) > 3
    inner = word[1:-1]
    if "/" in inner:
        return word.count("/") > 1 or not word.replace("/", "").isalpha() or "." in word or word[0] in "~/."
    if "@" in word or ("." in inner and not is_number(word) and not word.startswith(("e.g", "i.e"))):
        return True
    return any(map(str.isdigit, word)) and any(map(str.isalpha, word)) and not is_number(word)


def is_number(word: str) -> bool:
    """A number, with its sign, unit or dots; a time; or a version."""
    digits = word.lstrip("v~<>+-#$€")
    if not digits[:1].isdigit():
        return False
    return digits.rstrip("%kmgtbhsx+").translate(_MARKS).isdigit()


def is_address(word: str) -> bool:
    """Of a page, a mailbox or a machine."""
    return "://" in word or "@" in word[1:] or (word.count(".") == 3 and is_number(word))


_MARKS = str.maketrans("", "", ".,:/")
TESTS: dict[str, Callable[[str], bool]] = {
    "*": lambda word: word not in STOPS,
    "=id": is_name,
    "=num": is_number,
    "=ver": lambda word: "." in word and is_number(word),
    "=url": is_address,
    "=dash": lambda word: "-" in word[1:-1],
    "=path": lambda word: "/" in word[1:],
    "=plural": lambda word: len(word) > 3 and word[-1] == "s" and word[-2] not in "sui'",
}
