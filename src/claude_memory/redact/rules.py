"""Every rule in order of rank: where two finds overlap, the earlier rule names the kind."""

from claude_memory.redact.commands import COMMANDS
from claude_memory.redact.contexts import CONTEXTS
from claude_memory.redact.formats import FORMATS
from claude_memory.redact.rule import Rule
from claude_memory.redact.worded import SPELLED, WORDED

__all__ = ["RULES", "SHARPER", "SPELLED"]

# What must stand around a keyword so short that most texts hold it; else its rule would run on all of them.
# Each begins with letters of its own: one that could begin anywhere would swell the automaton.
SHARPER = {
    "sk": "sk[0-9a-f]{4}",
    "re_": "re_[a-z0-9]{8}_",
    "pat": r"pat[a-z0-9]{14}\.",
    "/": "[0-2]/[0-9]{12}",
    "sk_": "sk_[0-9a-f]{12}",
    "fc-": "fc-[0-9a-f]{12}",
    "key_": "key_[0-9a-f]{12}",
    "ak-": "ak-[a-z0-9]{22}",
    "as-": "as-[a-z0-9]{22}",
    "pa-": "pa-[a-z0-9_-]{43}",
    "m0-": "m0-[a-z0-9]{12}",
    "bsa": "bsa[a-z0-9_-]{28}",
    "pk_": "pk_[0-9]{6}",
    "st.": r"st\.[a-f0-9]{12}",
    "api-": "api-[a-z0-9]{25}",
    "secret-": "secret-[a-z0-9]{40}",
    "mii": "mii[a-z0-9+/]{40}",
    "discord-shape": r"\.[a-z0-9_-]{6}\.[a-z0-9_-]{27}",
}

RULES: tuple[Rule, ...] = (*FORMATS, *CONTEXTS, *COMMANDS, *WORDED)
