"""What the machine gives: files, locks, git, the project of a folder, logs, config.toml, who runs us.

Belongs here: safe writing, waiting for a lock, a repository's identity, the layout of a project's own folder.
Does not: anything that knows what a memory is.
"""
