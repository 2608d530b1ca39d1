"""What a compaction takes out of an agent's window, kept as one structured summary each."""
