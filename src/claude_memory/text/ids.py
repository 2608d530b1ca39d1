"""An id as a person types it: whole, or so much of its beginning that only one can be meant. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from claude_memory.errors import InvalidInput, NotFound

SHOWN = 4


def meant(named: str, known: Sequence[str], what: str) -> str:
    """The one of the known ids that begins so; `what` says for a message what is not there.

    An id that is given whole is meant also where longer ones begin with it.
    """
    wanted = named.strip()
    found = list(dict.fromkeys(id_ for id_ in known if id_.startswith(wanted))) if wanted else []
    if not found:
        raise NotFound(f"no {what}")
    if len(found) > 1 and wanted not in found:
        several = ", ".join(found[:SHOWN]) + (", …" if len(found) > SHOWN else "")
        raise InvalidInput(f"{wanted!r} could be {several}: give more of the id")
    return wanted if wanted in found else found[0]
