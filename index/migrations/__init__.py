"""How does an older catalog become one of today?

Alembic revisions, found inside the installed package.
"""
