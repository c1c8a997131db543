"""alembic's entry: runs the steps on the connection that `kernel.db.migrations` hands over."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
context.run_migrations()
