"""Which catalog can a newcomer serve at once?

Its files: sources.jsonl, principals/, queries.jsonl; README.md says what is in them.
"""
