"""`python -m claude_memory`: the same as the command `claude-memory`."""

import sys

from claude_memory.surfaces.cli import main

if __name__ == "__main__":
    sys.exit(main())
