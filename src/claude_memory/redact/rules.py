"""Reads the table of rules, `rules.tsv`: where two finds overlap, the earlier rule names the kind."""

from __future__ import annotations

import re
from os.path import dirname, join
from typing import NamedTuple

# Words for "password" in other scripts. The engine reads SOH for each of their letters, so that offsets hold.
_OTHER_SCRIPTS = (
    *("пароль", "Пароль", "пароля", "密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "암호"),
    *("كلمة المرور", "كلمة السر", "סיסמה", "סיסמא", "รหัสผ่าน", "κωδικός πρόσβασης", "पासवर्ड", "пароль"),
)
SPELLED = {**{word: "\x01" * len(word) for word in _OTHER_SCRIPTS}, "：": ":", "＝": "="}
_PIECE = re.compile("%([A-Z][A-Z0-9_]*)%")


class Rule(NamedTuple):
    """One format. The rule runs only on texts that hold one of its keywords (lower case).

    Every group of the pattern is cut where it matched, if the check says so; a match that begins with
    `unless` is no find. The pattern of a `finder` finds the heads of columns.
    """

    kind: str
    keywords: tuple[str, ...]
    pattern: str
    check: str | None = None
    unless: str | None = None
    finder: bool = False


def _rule(pieces: dict[str, str], kind: str, keywords: str, check: str, *rest: str) -> Rule:
    if "\\" in keywords:
        keywords = keywords.encode("ascii").decode("unicode_escape")
    form, pattern = rest[0], rest[-1]
    if len(rest) == 1:
        pattern = f"{pieces['START']}({pattern})"
    elif not form.endswith(":"):
        pattern = rf"(?i:(?:{form})[a-z0-9_.-]{{0,24}}){pieces['SEPARATOR']}({pattern})"
    unless = rest[1] if form == "unless:" else None
    checked = None if check == "-" else check
    return Rule(kind, tuple(keywords.split(",")), pattern, checked, unless, form == "column:")


def _table() -> tuple[tuple[Rule, ...], dict[str, str]]:
    rules: list[Rule] = []
    pieces: dict[str, str] = {}
    sharper: dict[str, str] = {}
    with open(join(dirname(__file__), "rules.tsv"), encoding="utf-8") as lines:  # noqa: PTH118, PTH120, PTH123
        for line in lines:
            if line.startswith("#"):
                continue
            name, *rest = _PIECE.sub(lambda piece: pieces[piece[1]], line.rstrip("\n")).split("\t")
            if name.startswith("="):
                pieces[name[1:]] = rest[0]
            elif name.startswith("~"):
                sharper[name[1:]] = rest[0]
            else:
                rules.append(_rule(pieces, name, *rest))
    return tuple(rules), sharper


RULES, SHARPER = _table()
