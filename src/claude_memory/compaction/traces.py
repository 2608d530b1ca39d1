"""What code and numbers show of two requests: whose words left the files, whose came in, which numbers moved.

Pure. One earlier and one later request at a time; `weight` says how telling words are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from claude_memory.compaction.episodes import Episode
from claude_memory.compaction.wording import exchanged, slots

UNKNOWN = 0.9  # how telling a word is that only code has said


@dataclass(frozen=True, slots=True)
class Traces:
    """One earlier and one later request, and how rare each word of the session is."""

    new: Episode
    old: Episode
    rare: Mapping[str, float]

    def weight(self, words: frozenset[str]) -> float:
        return sum(self.rare.get(word, UNKNOWN) for word in words)

    @property
    def undone(self) -> int:
        """Words written for the earlier request that the later one takes out."""
        return sum(self.new.work.undone[place] for place in self.old.doers - self.new.doers)

    @property
    def share(self) -> float:
        """How far what the later one takes out was written for the earlier one."""
        if not self.undone:
            return 0.0
        return max(min(1.0, self.undone / 3), self.undone / sum(self.new.work.undone.values()))

    @property
    def erased(self) -> float:
        """How much of what was written for the earlier one is taken out."""
        return min(1.0, 2 * self.undone / (len(self.old.built.written) + 1))

    @property
    def gone(self) -> float:
        """How telling the words are that were said earlier and leave the code."""
        return min(1.0, self.weight((self.old.chosen & self.new.gone) - self.new.written))

    @property
    def came(self) -> float:
        return min(1.0, self.weight(self.new.chosen & self.new.written))

    def slot(self) -> float:
        """In one edit, beside words that both say, what one said makes way for what the other says."""
        new, old = self.new.chosen, self.old.chosen
        found = [
            min(1.0, self.weight(old & one.removed)) * min(1.0, self.weight(new & one.added))
            for one in self.new.work.swaps
            if one.kept & old & new
        ]
        return max(found, default=0.0)

    def swapped(self) -> float:
        """In one edit, wherever it is, words said earlier make way for words said later."""
        out, into = self.old.chosen - self.new.own, self.new.chosen - self.old.chosen
        found = [
            min(1.0, self.weight(out & one.removed)) * min(1.0, self.weight(into & one.added))
            for one in self.new.work.swaps
        ]
        return max(found, default=0.0)

    def numbers(self, text: str) -> tuple[float, float]:
        """Whether a number of a text took another's place: beside the same words, and in the code."""
        before, after = slots(text), slots(self.new.text)
        known, named = ({slot[0] for slot in listed} for listed in (before, after))
        said = code = 0.0
        for was, unit, label, near in before:
            for now, other_unit, other_label, other_near in after:
                if was == now or now in known or now in self.new.staying:
                    continue
                alike = self._same_word(unit, other_unit) + self._same_word(label, other_label)
                alike += was in named and was.count(".") == now.count(".")
                alike += 0.7 * (len(near & other_near) > 1)
                said = max(said, alike)
                if self._exchanged(was, now):
                    code = max(code, 1.0 if alike or self.undone else 0.5)
        return min(said, 2.0), code

    def _exchanged(self, was: str, now: str) -> bool:
        return any(exchanged(was, now, one.removed, one.added) for one in self.new.work.swaps)

    def _same_word(self, one: str, other: str) -> float:
        return 0.3 + 0.7 * self.rare.get(one, 1.0) if one and one == other else 0.0
