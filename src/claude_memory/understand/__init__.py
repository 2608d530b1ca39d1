"""What a conversation means, told from its structure: who speaks, what was asked, done and settled.

Pure rules over records and messages; standard library only, because answering hooks ask here too.
No files, no database, no ranking: those are below and beside."""
