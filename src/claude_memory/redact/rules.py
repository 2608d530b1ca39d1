"""Every rule in order of rank: where two finds overlap, the earlier rule names the kind."""

from claude_memory.redact.contexts import CONTEXTS
from claude_memory.redact.formats import BLOCKS, CLOUD, FORGES, MODELS, SERVICES
from claude_memory.redact.rule import Rule

RULES: tuple[Rule, ...] = (*BLOCKS, *CLOUD, *FORGES, *SERVICES, *MODELS, *CONTEXTS)
