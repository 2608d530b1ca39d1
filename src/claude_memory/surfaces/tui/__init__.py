"""The screen for looking into conversations. The only part that loads textual, and only when it is shown."""
