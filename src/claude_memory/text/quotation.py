"""Text that is not a person's word made safe to stand among words that are: cleaned, and quoted.

One rule for every channel: what could pass for markup or hide from a reader is taken out, and nothing
inside a quotation can end it.
"""

from __future__ import annotations

import re
import unicodedata

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


def plain(text: str) -> str:
    """The text in one line, without tags, control, zero-width, bidirectional and unassigned characters."""
    if text.isascii() and text.isprintable():
        return _untagged(text)
    visible = "".join(
        character
        for character in text
        if character in _KEPT_CONTROLS or unicodedata.category(character) not in _HIDDEN_CATEGORIES
    )
    return _untagged(_UNSEEN.sub("", visible).translate(_ANGLES))


def _untagged(text: str) -> str:
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
