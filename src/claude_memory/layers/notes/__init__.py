"""The knowledge base: folders of markdown notes that people keep, and how they become memories."""
