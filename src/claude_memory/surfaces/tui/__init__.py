"""The screen of `recall`, for looking into conversations; the only part that loads textual.

Belongs here: keys, layout, how results and a conversation are drawn, asking beside the screen.
Does not: finding conversations (search), resuming one (surfaces/cli).
"""
