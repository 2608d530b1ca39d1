"""What `Memory` can do, by topic: each module adds the verbs of one."""
