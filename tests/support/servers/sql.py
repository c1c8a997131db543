"""MariaDB and PostgreSQL, with nothing in them and no password; what they say is written is not always on the disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from tests.support.ports import free_port
from tests.support.servers.process import ADDRESS, Server


class SqlServer(Server):
    url: str
    """SQLAlchemy's, of an administrator."""

    def ready(self) -> bool:
        try:
            self.query("SELECT 1")
        except OperationalError:
            return False
        return True

    def query(self, statement: str) -> list[tuple[object, ...]]:
        engine = create_engine(self.url, isolation_level="AUTOCOMMIT")
        try:
            with engine.connect() as connection:
                result = connection.execute(text(statement))
                return [tuple(row) for row in result] if result.returns_rows else []
        finally:
            engine.dispose()


class MariaDB(SqlServer):
    def __init__(self, name: str = "mariadb") -> None:
        super().__init__(name, "mysql")
        self.port = free_port()
        self.url = f"mysql+pymysql://root@{ADDRESS}:{self.port}/"
        self.data = self.directory / "data"

    def prepare(self) -> None:
        self.run(
            *("mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"),
            *(f"--datadir={self.data}", "--innodb-log-file-size=32M"),
        )

    @property
    def command(self) -> Sequence[str]:
        return [
            *("mariadbd", "--no-defaults", f"--datadir={self.data}", f"--socket={self.directory}/socket"),
            *(f"--port={self.port}", f"--bind-address={ADDRESS}", "--max-connections=500"),
            *(
                "--innodb-log-file-size=32M",
                "--innodb-flush-log-at-trx-commit=0",
                "--innodb-flush-method=nosync",
                "--sync-frm=0",
            ),
        ]


class PostgreSQL(SqlServer):
    def __init__(self) -> None:
        super().__init__("postgresql", "postgres")
        self.port = free_port()
        self.url = f"postgresql+psycopg2://postgres@{ADDRESS}:{self.port}/postgres"
        self.data = self.directory / "data"
        # Debian keeps each version's programs out of the PATH.
        self._programs = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))

    def prepare(self) -> None:
        self.run(
            *(f"{self._programs}/initdb", "--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"),
            f"--pgdata={self.data}",
        )

    @property
    def command(self) -> Sequence[str]:
        settings = {
            "port": self.port,
            "listen_addresses": ADDRESS,
            "unix_socket_directories": "",
            "max_connections": 500,
            "fsync": "off",
        }
        given = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [f"{self._programs}/postgres", "-D", str(self.data), *given]
