"""Words, sentences, times, tokens, ids, quotations and markdown: pure functions over text.

Belongs here: the one stemmer, the one splitter, the one clock format, the one estimate of tokens.
Does not: files, the store, what a sentence means (understand).
"""
