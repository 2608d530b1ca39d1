"""Decides whether a matched value is a secret or only looks like one: placeholders, code, plain words.

Pure functions of the value alone. Each errs towards redaction only where its rule's context is strong.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import pairwise

_ENOUGH = 256  # characters that decide: these patterns backtrack, and a value may be megabytes long
_PLACEHOLDER = re.compile(
    r"""(?ix) ^[<\[{(%$*.#@!&\x7f-]*$ | \$\{ | \$\( | \{\{ | ^\$(?:env:)?\{?[a-z_]\w*\}?$
    | ^%\w+%$ | %\(\w+\) | ^<[^>]*>?$
    | (?:\b|_)(?:your|dummy|fake|mock|sample|todo) | [_-]here\b | example | placeholder | insert[_-]
    | change[_-]?(?:me|this|it) | replace[_-]?(?:me|with|this) | redacted | undefined | aws4-hmac
    | (?:\b|_)(?:scram|sha|md5|aes|utf|rs256|hs256|base64|oauth2|ed25519)(?:\b|[_-]|\d)
    | sensitive
    | %20(?:secret|password)$ | ^\d+,[a-z]+: | ^sk-12345 | x{4,} | \*{3,} | \.{3} | 0{6,}
    | environ | getenv | process\.env | import\.meta | secrets?\. | vars?\. | \benv\.
    | ^[a-z_.-]*(?:password|passwd|secret|pass|pwd|token|key)[a-z_.-]*\d{0,4}$
    | ^(?:test|some|my|the|foo|bar|a|an)[_-] | ^(?:12345|1a2b3c|a1b2c3|abcdef|abc123|qwerty|foobar)
    | ^\$?(?:none|null|nil|true|false|string|str|bool|int|object|required|optional|default)$"""
)
_WEAK = frozenset(
    """password passwd pass pwd secret token key apikey admin root user username test testing guest postgres
    mysql redis mongo minio rabbitmq default changeme none null true false empty string demo value hidden
    localhost passphrase credential credentials bearer basic digest oauth required optional""".split()
)
_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+|[^A-Za-z0-9]")
# Calls, subscripts, attributes, interpolations, generics: an expression, not a value.
_CODE = re.compile(
    r"""(?x) ^!?&?[A-Za-z_][\w.:]*[(\[] | \{[\w.!:\ ]*\} | :: | -> | \(\) | ^[A-Za-z_]\w*<
    | ^[A-Za-z_]+(?:\??\.[A-Za-z_]\w*)+[;,()]*$ | ^[a-z_]\w*(?:\??\.[a-z_]\w*)+[;,()]*$
    | ^(?:https?|arn): | ^//
    | ^[A-Z]+\d?(?:_[A-Z]+\d?)+[;,)]*$ | ^[a-z]+\d{0,2}(?:_[a-z]+\d{0,2})+[;,)]*$
    | ^[a-z-]+(?:/[a-z-]+)+(?:/\d+)?$ | ^~?(?:/[a-z][a-z._-]*\d{0,3}){2,}/?[;,)]*$ | ^\[/?\w+\]"""
)
_WORDS = re.compile(
    r"[\d.,:_-]+|[a-z]+(?:[_.:/-][a-z]+){0,2}|[A-Z_]+|[A-Z]?[a-z]+|v?[\d.]+[a-z]*|[a-z]+(?:[A-Z][a-z]+)+"
)
_ABOUT_PASSWORDS = re.compile(
    r"(?i)\b(?:least|most|chars?|characters?|digits?|letters?|must|enter|min|max)\b"
)
_PATH_OR_OPTION = re.compile(r"[./~-]|[a-z_]+=|@?[\w.-]+/[\w./-]*$")
_PLACE = re.compile(  # a path, however much its parts look drawn by lot
    r"(?:~|\.{1,2}|(?i:[a-z]:)|/?(?:tmp|home|usr|var|etc|opt|root|Users|mnt|srv|dev|proc|src|lib))[/\\]|\\[a-z]+\\"
    r"|(?:/\w{1,12}){3,}/?$|[a-z0-9_]{1,12}(?:/[a-z0-9_]{1,12}){2,}$"
)

_ORDINARY = re.compile(
    r"(?i)v?\d+(?:[.:/_-]\w*)*|[a-z]+[-_]?\d{1,3}|[\w-]+\.(?:[a-z]{1,5}\d?|\d+)(?:[:#]\S*)?|[a-z]+(?:[-_.]\d+)+\w?"
    r"|[A-Z]+-\d+|#.*|.*[()\[\]{}=].*|.*:\d+(?::\d+)?|[\w.-]+/[\w./-]+|\d+[a-z]{1,3}"
)

# Identifiers and ids: words joined by one sign, digits only at their ends; hex; a word with a number.
_STEADY = re.compile(
    r"(?i)[a-z]+\d{0,4}(?:[-_.:/@]+[a-z]+\d{0,4})*[-_.:/@]*|[0-9a-f]{6,}|[0-9a-f-]{16,}|[a-z]*\d+[a-z]*"
    r"|(?:[a-z]+\d+)+[a-z]*(?:\.\w+)+|\w+_\w+|\W?[\w.-]+\.\w{1,5}(?::.*)?|.*[/=@$&].*"
)


def is_placeholder(value: str) -> bool:
    """Whether the value stands for a secret to be filled in, or names where it comes from."""
    value = value.strip("[](){},;")[:_ENOUGH]
    return bool(_PLACEHOLDER.search(value)) or value.lower().strip("-_.!@*") in _WEAK


def is_token(value: str) -> bool:
    """A value of a known format: anything but an obvious filler."""
    body = value[-24:]
    return len(set(body)) >= 6 and "xxxx" not in value.lower() and "..." not in value


def _is_no_value(value: str) -> bool:
    return is_placeholder(value) or bool(_CODE.search(value) or _PLACE.match(value))


def is_random(value: str) -> bool:
    """Mixed letters and digits without the long words that names and sentences are made of."""
    value = value[:_ENOUGH]
    return len(value) >= 8 and not _is_no_value(value) and _is_scrambled(value)


def is_header(value: str) -> bool:
    """Behind a header that carries nothing but keys: any long value of letters and digits."""
    value = value[:_ENOUGH]
    mixed = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return is_random(value) or (mixed and len(value) >= 16 and not _is_no_value(value))


def _is_scrambled(value: str) -> bool:
    if not any(c.isdigit() for c in value):
        # Letters of both cases in an order that no name has may do without.
        letters = [c for c in value if c.isalpha()]
        turns = sum(a.isupper() != b.isupper() for a, b in pairwise(letters))
        if len(value) < 16 or turns < len(letters) / 3:
            return False
    if len(value) >= 12 and re.search(r"(?i)[bcdfghjklmnpqrstvwxz]{5}", value) and value.isalnum():
        return True
    pieces, shares = len(_PIECE.findall(value)), [n / len(value) for n in Counter(value).values()]
    bits = -sum(share * math.log2(share) for share in shares)  # of each character
    return len(value) / pieces <= 3.2 and pieces >= 4 and bits >= 2.8


def is_password(value: str) -> bool:
    """A value where only a password can stand: anything but a placeholder or a common default."""
    value = value[:_ENOUGH]
    if len(value) < 4 or is_placeholder(value):
        return False
    return not re.fullmatch(r"[A-Z_]+|\W+|%[sd]|\$\w+|:\w+", value)


def is_env(value: str) -> bool:
    """The right side of an environment line: no code, no path, no plain words."""
    value = value[:_ENOUGH]
    if len(value) < 6 or _is_no_value(value) or _WORDS.fullmatch(value):
        return False
    return not _PATH_OR_OPTION.match(value) or _is_scrambled(value)


def is_given(value: str) -> bool:
    """What a command takes as a password: anything but a placeholder, an option, a plain word or number."""
    value = value[:_ENOUGH].rstrip("\\")
    if len(value) < 5 or _is_no_value(value) or _WORDS.fullmatch(value):
        return False
    return value[0] not in "-/$<{[.%*"


def is_spoken(value: str) -> bool:
    """What a person says a password is: never a mere word, for "the password is wrong" is said as well."""
    return any(c.isdigit() for c in value) and is_env(value)


def is_mixed(value: str) -> bool:
    """Under a name that may mean much else: three kinds of characters, or many changes between two."""
    kinds = [
        "digit" if c.isdigit() else "upper" if c.isupper() else "lower" if c.isalpha() else "mark"
        for c in value[:_ENOUGH]
    ]
    changes = sum(one != other for one, other in pairwise(kinds))
    return (len(set(kinds)) >= 3 or changes > 4) and is_spoken(value)


def is_scrawl(value: str) -> bool:
    """A password without a sign before it: mixed, and no version, date, name or number with a unit."""
    return is_mixed(value) and not _ORDINARY.fullmatch(value[:_ENOUGH])


def is_strong(value: str) -> bool:
    """A password with nothing but a word somewhere before it: what no name, version, id or path is."""
    value = value[:_ENOUGH].strip("*_").rstrip(".,;:?")
    if len(value) < 8 or not is_scrawl(value) or _STEADY.fullmatch(value):
        return False
    return any(c.isalpha() for c in value)


def is_phrase(value: str) -> bool:
    """A password of a few words: a sentence about passwords has more of them, or a single digit at most."""
    words = value[:_ENOUGH].split()
    if not 2 <= len(words) <= 4 or is_placeholder(value) or _CODE.search(value):
        return False
    if _ABOUT_PASSWORDS.search(value[:_ENOUGH]):
        return False
    kinds = (str.isdigit, str.isupper, str.islower)
    return any(
        sum(c.isdigit() for c in word) >= 2 or all(any(map(kind, word)) for kind in kinds) for word in words
    )


def is_jwt(value: str) -> bool:
    """The first part decodes to a JSON object, as every JWT's and JWE's header does."""
    head = value.split(".", 1)[0]
    with suppress(ValueError, RecursionError):
        return isinstance(json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4))), dict)
    return False


def is_basic(value: str) -> bool:
    """Base64 of `user:password`."""
    with suppress(ValueError):
        plain = base64.b64decode(value + "=" * (-len(value) % 4)).decode("utf-8")
        return ":" in plain and plain.isprintable()
    return False


def is_kubernetes(value: str) -> bool:
    """Base64 of anything: all data of a Kubernetes Secret is."""
    with suppress(ValueError):
        return bool(base64.b64decode(value, validate=True)) and len(value) % 4 == 0
    return False


# By the names that the table of rules gives them.
CHECKS: Mapping[str, Callable[[str], bool]] = {
    check.__name__.removeprefix("is_"): check
    for check in (
        is_token,
        is_random,
        is_header,
        is_password,
        is_env,
        is_given,
        is_spoken,
        is_scrawl,
        is_strong,
        is_mixed,
        is_phrase,
        is_jwt,
        is_kubernetes,
        is_basic,
    )
}
