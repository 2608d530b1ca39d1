"""What a person says in their own voice in a prompt: sentences, without code, quotes and pasted logs.

Knows no language; standard library only and nothing compiled, because it runs inside the prompt hook.
"""

from __future__ import annotations

from collections.abc import Iterator

MAX_CHARACTERS = 10_000  # a longer prompt is a pasted file; its head and tail are read
MAX_LINE = 1_500
QUOTED = "“…”"

_FENCES = ("```", "~~~", '"""', "'''")
_BULLETS = ("- ", "* ", "• ", "+ ")
_ENDS = ".!?;…"
_CLOSERS = "\"')]”»"
_DASHES = ("—", "–")
_ABBREVIATED = frozenset(
    "e.g. i.e. etc. vs. approx. no. nr. fig. resp. cf. incl. mr. mrs. dr. st. ca.".split()
)
_PAIRS = {"`": "`", "“": "”", "«": "»", '"': '"'}
# What comments, prompts, tables, diffs and traces begin with.
_PASTED = (
    "//", "/*", "*/", "# ", "-- ", "--- ", "--> ", "<!--", "$ ", ">>> ", "@@", "+++ ", "|", "%", "... ",
    "at ", 'File "', "Traceback (", "E   ", "Caused by", "npm ", "commit ", "error[", "assert ", "#!",
    "#define", "#include", "<?", "</", "}", ")", "✗", "✓", "✔", "✘", "×", "●", "exit status", "exit code",
)  # fmt: skip
_LEVELS = frozenset(
    """DEBUG INFO WARN WARNING ERROR FATAL TRACE CRITICAL PASS FAIL FAILED PASSED SKIPPED CONFLICT SELECT
    INSERT UPDATE DELETE CREATE ALTER""".split()
)
_FAULTS = ("error", "exception", "warning", "panic", "fatal", "traceback", "hint", "stderr", "stdout")
_PROGRAMS = frozenset(
    "kernel npm pip cargo gcc make git docker systemd sshd node java python python3".split()
)
_CODE = frozenset(
    "def class import from return const var let public private func fn function pub export".split()
)
_QUERIES = frozenset("select join from where insert update delete group order alter create with".split())
_CODE_MARKS = frozenset(";({=")
_CODE_ENDS = ("{", "}", ");", "};", "},", "(", "[", "],", ";")
_CODE_SIGNS = ("=>", " == ", " === ", " != ", "&&", " += ")
_MONTHS = frozenset("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split())
_DIGITS = frozenset("0123456789")
_HEX = frozenset("0123456789abcdef")
_RULED = frozenset("-=_*~ ")


def sentences(text: str) -> Iterator[str]:
    """Each sentence in order, its words as they were typed; quoted text in it is replaced by “…”."""
    for line in _own_lines(_bounded(text)):
        yield from _split(_unquoted(line))


def _bounded(text: str) -> str:
    if len(text) <= MAX_CHARACTERS:
        return text
    half = MAX_CHARACTERS // 2
    return f"{text[:half]}\n{text[-half:]}"


def _own_lines(text: str) -> Iterator[str]:
    """A block of lines of which most are pasted is pasted: traces have lines that look like prose."""
    own: list[str] = []
    pasted = 0
    fence = ""
    braced = False
    for line in (*text.splitlines(), ""):
        bare = line.strip()
        if bare.startswith(_FENCES) and (not fence or bare.startswith(fence)):
            fence = "" if fence else bare[:3]
        elif fence or bare[:1] == ">" or (len(line) > MAX_LINE and not _is_prose(line)):
            continue
        elif not bare:
            if pasted <= len(own):
                yield from own
            own, pasted, braced = [], 0, False
        elif braced:
            pasted += 1
            braced = bare[0] != "}"
        elif listed := _after_bullet(bare):
            own.append(listed)
        elif _is_pasted(line, bare):
            pasted += 1
            braced = bare[-1] == "{"
        else:
            own.append(bare)
    if pasted <= len(own):
        yield from own


def _is_prose(line: str) -> bool:
    """A long line may be one long paragraph, or a blob."""
    return line.count(" ") * 12 > len(line)


def _after_bullet(bare: str) -> str:
    """What an item of a list says; empty for any other line."""
    if bare.startswith(_BULLETS) and not bare.startswith("- -"):
        return bare[2:].strip()
    number = bare[: len(bare) - len(bare.lstrip("0123456789"))]
    if 0 < len(number) < 3 and bare[len(number) : len(number) + 2] in (". ", ") "):
        return bare[len(number) + 2 :].strip()
    return ""


def _is_pasted(line: str, bare: str) -> bool:
    if line.startswith(("    ", "\t")) or bare.startswith(_PASTED) or _RULED.issuperset(bare):
        return True
    return _is_log(bare) or _is_code(bare)


def _is_log(bare: str) -> bool:
    first, _, rest = bare.partition(" ")
    core = first.strip("[]():|")
    if core in _LEVELS or core.rstrip(":") in _LEVELS or (first in _MONTHS and rest[:1] in _DIGITS):
        return True
    if bare[0] == "[" and "](" not in bare and (len(first) > 2 or rest.lstrip()[:1] in _DIGITS):
        return True
    if first.endswith(":"):
        lowered = core.lower()
        named = lowered.endswith(_FAULTS) or lowered.partition("[")[0] in _PROGRAMS or core[1:2] == "/"
        if named or _is_stamp(core) or (":" in core and "/" in core):
            return True
    if core[:1] in _DIGITS and (_is_stamp(core) or rest.startswith("|")):
        return True
    is_hash = 7 <= len(first) <= 40 and _HEX.issuperset(first) and not _DIGITS.isdisjoint(first)
    return bool(rest) and (is_hash or _is_place(first))


def _is_stamp(word: str) -> bool:
    """2026-11-02T08:14, 08:14:55, [ 1123.99] and the like: a time, or a long number, and nothing else."""
    return (
        len(word) > 4
        and word[0] in _DIGITS
        and (word.count(":") > 1 or word.count("-") == 2 or _DIGITS.issuperset(word.replace(".", "")))
    )


def _is_place(word: str) -> bool:
    """src/main.rs:77:13"""
    path, _, number = word.rstrip(":").partition(":")
    return bool(number) and number[0] in _DIGITS and "." in path and "//" not in word


def _is_code(bare: str) -> bool:
    if bare.endswith(_CODE_ENDS) or any(sign in bare for sign in _CODE_SIGNS):
        return True
    first, _, rest = bare.partition(" ")
    if first in _CODE and rest and (not _CODE_MARKS.isdisjoint(rest) or rest.endswith(":")):
        return True
    if first.lower() in _QUERIES and (" = " in rest or " from " in rest or "(" in rest) and "," not in first:
        return True
    return "::" in first or first.startswith("@") or ("=" in bare and "(" in bare.partition("=")[2])


def _unquoted(line: str) -> str:
    """A single name in quotes is a name; anything longer is somebody's words."""
    for opening, closing in _PAIRS.items():
        if opening in line:
            line = _cut(line, opening, closing)
    if " '" in line or line.startswith("'"):
        line = _cut(f" {line} ", " '", "'").strip()
    return line


def _cut(line: str, opening: str, closing: str) -> str:
    kept: list[str] = []
    while True:
        before, found, after = line.partition(opening)
        inner, closed, rest = after.partition(closing)
        if not (found and closed):
            return "".join([*kept, line])
        if rest[:1].isalpha() and closing == "'":  # an apostrophe inside a word
            kept.append(before + found + inner + closed)
        else:
            kept.append(f"{before}{_one_name(inner, opening) or QUOTED}")
        line = rest


def _one_name(inner: str, mark: str) -> str:
    if not inner or any(map(str.isspace, inner)):
        return ""
    return f"`{inner}`" if mark == "`" else inner


def _split(line: str) -> Iterator[str]:
    words: list[str] = []
    for word in line.split():
        if word in _DASHES or not (word.isascii() or any(map(str.isalnum, word)) or word in ("…", QUOTED)):
            if words:  # a dash or a picture
                yield " ".join(words)
            words = []
            continue
        words.append(word)
        bare = word.replace(QUOTED, "q").rstrip(_CLOSERS)
        if bare[-1:] in _ENDS and bare and not _goes_on(bare, len(words)):
            yield " ".join(words)
            words = []
    if words:
        yield " ".join(words)


def _goes_on(word: str, place: int) -> bool:
    if place == 1:
        return word[:-1].isdigit()
    return word.lower().lstrip("(") in _ABBREVIATED
