"""What is handed to an agent, within a token budget: facts, never orders."""
