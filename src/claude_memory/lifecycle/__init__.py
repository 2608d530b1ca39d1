"""What a memory is worth over time: the write gate, strength, staleness, consolidation, intentions."""
