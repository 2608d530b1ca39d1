"""Every error the package raises on purpose.

MemoryFault
├── ConfigFault            a setting or the environment is wrong
├── InvalidInput           what the caller passed cannot be used
├── NotFound               no such memory, session, file
├── Conflict               the state forbids it (exists already, locked, superseded)
├── StoreFault             the store cannot do its work
│   ├── StoreBusy          another process holds it; try again
│   ├── SchemaTooNew       written by a newer version of this package
│   └── StoreCorrupt       the file is damaged
└── EmbedderUnavailable    no vectors now; text search still works

Each message is one line that a person can act on. Surfaces translate these once, at their top.
"""


class MemoryFault(Exception):
    """Root of the tree; never shadows the builtin MemoryError."""


class ConfigFault(MemoryFault):
    """A setting or the environment is wrong."""


class InvalidInput(MemoryFault):
    """What the caller passed cannot be used."""


class NotFound(MemoryFault):
    """No such memory, session or file."""


class Conflict(MemoryFault):
    """The present state forbids it."""


class StoreFault(MemoryFault):
    """The store cannot do its work."""


class StoreBusy(StoreFault):
    """Another process holds the store; trying again may work."""


class SchemaTooNew(StoreFault):
    """The store was written by a newer version of this package."""


class StoreCorrupt(StoreFault):
    """The store's file is damaged."""


class EmbedderUnavailable(MemoryFault):
    """No vectors can be made now; text search still works."""
