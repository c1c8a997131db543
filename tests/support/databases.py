"""Where tests keep their databases: an SQLite file each, or, with `--database`, a database each on a server.

pytest tests/kernel tests/block --database mariadb
pytest tests/kernel tests/block --database postgresql+psycopg2://postgres@127.0.0.1/postgres
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from sqlalchemy import create_engine, make_url, text

from tests.support.servers.galera import Galera
from tests.support.servers.sql import MariaDB, PostgreSQL

SERVER = "PUMICE_TEST_DATABASE"
"""Where `--database` is kept, in the environment, for all that makes databases without pytest's configuration."""
OURS = "PUMICE_TEST_DATABASE_OURS"
"""Set where the server ends with the run: its databases need not be dropped, which takes PostgreSQL 0.2 s each."""

# Texts that differ are different, as elsewhere; `kernel.db.migrations` sees to that too.
_TEXT = {"mysql": "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"}

DatabaseServer = MariaDB | PostgreSQL | Galera

SERVERS: dict[str, type[DatabaseServer]] = {"mariadb": MariaDB, "postgresql": PostgreSQL, "galera": Galera}

_made: set[str] = set()
_started: list[DatabaseServer] = []


def use(where: str) -> Callable[[], None]:
    """Have databases made at `where`: the URL of a server, or the name of one that is started for it.

    :returns: what ends that server
    """
    ends = ExitStack()
    if where in SERVERS:
        server = SERVERS[where]()
        where = ends.enter_context(server).url
        _started.append(server)
        os.environ[OURS] = "1"
    os.environ[SERVER] = where
    return ends.close


def started() -> DatabaseServer | None:
    """The server that was started for this run."""
    return _started[-1] if _started else None


def url_of(file: Path) -> str:
    """The URL of the database that belongs to `file`, the same at each call; on a server it is made when missing."""
    server = os.environ.get(SERVER)
    if not server:
        return f"sqlite:///{file}"
    name = f"pumice_test_{hashlib.sha256(str(file).encode()).hexdigest()[:16]}"
    if name not in _made:
        _made.add(name)
        kind = _TEXT.get(make_url(server).get_backend_name(), "")
        # One of an earlier run that was killed may be there still.
        _execute(server, f"DROP DATABASE IF EXISTS {name}", f"CREATE DATABASE {name} {kind}")
    return make_url(server).set(database=name).render_as_string(hide_password=False)


def drop_all() -> None:
    """Remove from the server what `url_of` has made there, unless the server ends now."""
    for name in _made if OURS not in os.environ else ():
        server = os.environ[SERVER]
        # PostgreSQL drops none that a pool still has a connection to, unless forced.
        force = "WITH (FORCE)" if make_url(server).get_backend_name() == "postgresql" else ""
        _execute(server, f"DROP DATABASE IF EXISTS {name} {force}")
    _made.clear()


def _execute(server: str, *statements: str) -> None:
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()
