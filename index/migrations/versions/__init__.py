"""Which steps lead from an empty database to today's tables?

One module a step, frozen once released.
"""
