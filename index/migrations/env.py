"""With which connection do migrations run?

Alembic executes this file; the caller opened the transaction.
"""

from alembic import context

from index.catalog_tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
context.run_migrations()
