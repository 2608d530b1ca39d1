"""Text on its way in and out: fit to be stored, quoted among a person's words, measured in tokens; and ids.

One rule for every channel: what could pass for markup or hide from a reader is taken out, and nothing
inside a quotation can end it. The estimate of tokens leans high: a context over its budget costs an agent
more than a line left out.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence

from claude_memory.errors import InvalidInput, NotFound

# Anything shaped like a tag: a model may take `<system-reminder>` for a voice it must obey.
_TAG = re.compile(r"</?[A-Za-z!?][^<>]{0,200}>")
# What is left of one, spelled as an entity, or made by taking one out of another's middle: it keeps its
# shape, not its meaning.
_OPENING = re.compile(r"(?:<|&lt;|&#0*60;?|&#[xX]0*3[cC];?)(?=[A-Za-z/!?])")
_SPACE = re.compile(r"\s+")
_KEPT_CONTROLS = "\n\t"
_HIDDEN_CATEGORIES = ("Cc", "Cf", "Cs", "Co", "Cn")
# Letters and marks that are drawn as nothing: fillers, joiners, variation selectors.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
# Angle brackets of other widths, which a model reads as the plain ones.
_ANGLES = str.maketrans({"＜": "<", "﹤": "<", "＞": ">", "﹥": ">"})
# Only our own marks may open or close a quotation.
_MARKS = str.maketrans("“„‟❝〝🙶🙸”❞〞〟🙷＂", "‘‘‘‘‘‘‘’’’’’'")
_NAME = re.compile(r"[\w.,/\\:@+~*?#=%&-]+", re.ASCII)
NAME_CHARACTERS = 200


def clean(text: str) -> str:
    """Text that can be stored: halves of a surrogate pair that lost the other half are replaced."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def plain(text: str) -> str:
    """The text in one line, without tags, control, zero-width, bidirectional and unassigned characters."""
    if not (text.isascii() and text.isprintable()):
        visible = (
            c for c in text if c in _KEPT_CONTROLS or unicodedata.category(c) not in _HIDDEN_CATEGORIES
        )
        text = _UNSEEN.sub("", "".join(visible)).translate(_ANGLES)
    return _SPACE.sub(" ", _OPENING.sub("‹", _TAG.sub("", text))).strip()


def clipped(text: str, characters: int) -> str:
    """At most so many characters, cut at a word, with an ellipsis where something is missing."""
    if len(text) <= characters:
        return text
    head = text[: characters - 1]
    return (head.rsplit(" ", 1)[0] if " " in head[characters // 2 :] else head).rstrip(" ,;:") + "…"


def inner(text: str) -> str:
    """The text with other marks in place of those that could end a quotation."""
    return text.translate(_MARKS)


def quoted(text: str, characters: int) -> str:
    """What somebody or something else said, as data; empty if nothing is left of it."""
    said = clipped(plain(inner(text)), characters)
    return f"“{said}”" if said else ""


def unquoted(text: str) -> str:
    """A name as it was before we quoted it: who reads it in an answer asks for it so."""
    return text.strip().removeprefix("“").removesuffix("”").strip()


def named(text: str, characters: int = NAME_CHARACTERS) -> str:
    """A name from outside (a file, a topic, a task, a session): as it is if it is one word, else quoted."""
    if len(text) <= characters and _NAME.fullmatch(text):
        return text
    return quoted(text, characters)


def meant(typed: str, known: Sequence[str], what: str) -> str:
    """The one of the known ids that begins as typed; `what` says for a message what is not there.

    An id that is given whole is meant also where longer ones begin with it.
    """
    wanted = typed.strip()
    found = list(dict.fromkeys(id_ for id_ in known if id_.startswith(wanted))) if wanted else []
    if not found:
        raise NotFound(f"no {what}")
    if len(found) > 1 and wanted not in found:
        several = ", ".join(found[:4]) + (", …" if len(found) > 4 else "")
        raise InvalidInput(f"{wanted!r} could be {several}: give more of the id")
    return wanted if wanted in found else found[0]


# --- sizes in tokens, estimated without a tokenizer, and the marks around what is handed over

# What we hand over stands between these, so that a later import of the conversation knows it for ours.
# Nothing from a memory can close it early: tags are taken out of whatever is quoted.
OPENING, CLOSING = "<claude-memory>", "</claude-memory>"
CHARACTERS_PER_TOKEN = 3.6  # English prose and code measure 3.7 to 4.5; the lower end is the safe one


def tokens(text: str) -> int:
    """About how many tokens a text takes; characters beyond ASCII count as one each."""
    ascii_count = sum(map(str.isascii, text)) if not text.isascii() else len(text)
    return -int(-ascii_count // CHARACTERS_PER_TOKEN) + (len(text) - ascii_count)


def marked(text: str) -> str:
    return f"{OPENING}\n{text}\n{CLOSING}"


MARK_TOKENS = tokens(marked("")) + 1
MARK_CHARACTERS = len(marked(""))

# Code and logs take more tokens than prose of the same length. Fitted to a tokenizer that was published
# for Claude: over 30 long sessions 4% below it on average, for their summaries 3% above.
_WORD, _DIGIT, _SIGN = re.compile(r"[A-Za-z]+"), re.compile(r"[0-9]"), re.compile(r"[!-/:-@\[-`{-~]")
_GAP = re.compile(r"[ \t]{2,}")


def about_tokens(text: str) -> int:
    """About how many tokens a text takes: closer than `tokens`, slower, and it does not lean high."""
    words = _WORD.findall(text)
    odd = 0 if text.isascii() else len(text) - sum(map(str.isascii, text))
    return math.ceil(
        0.6 * len(words)
        + 0.13 * sum(map(len, words))
        + 0.55 * len(_DIGIT.findall(text))
        + 0.45 * len(_SIGN.findall(text))
        + 1.5 * text.count("\n")
        + len(_GAP.findall(text))
        + odd
    )
