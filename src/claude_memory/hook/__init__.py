"""The program that agents run at every event. Standard library only.

Belongs here: standard input to one spooled file, and nothing that can fail or wait.
Does not: parsing, redacting, storing, answering (surfaces/hooks).
"""
