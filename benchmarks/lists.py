"""How long a page of 50 takes in a list of 1,000 rows and in one of 100,000.

    python benchmarks/lists.py [--database URL] [--rows 100000] [--rounds 40]

All rows are of the project that asks. The API is called in this process, without a web server and without Keystone.
Both services are measured, each with a database of each size, in turns; without --database they are SQLite files. URL
is that of a server's user who may make databases, such as mysql+pymysql://root@127.0.0.1/.
"""

from __future__ import annotations

import argparse
import datetime
import io
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any
from wsgiref.util import setup_testing_defaults

from sqlalchemy import Engine, create_engine, event, insert, make_url, text

from pumice.block.volumes.model import Volume
from pumice.kernel import config
from pumice.kernel.auth.context import CONTEXT, RequestContext
from pumice.kernel.db import migrations
from pumice.kernel.db.base import new_id, utcnow
from pumice.kernel.db.engine import Database
from pumice.share.shares.model import Share, ShareInstance

SMALL = 1_000
PROJECT = "a" * 32
BATCH = 1_000
VERSIONS = {
    "block": {"HTTP_OPENSTACK_API_VERSION": "volume 3.71"},
    "share": {"HTTP_X_OPENSTACK_MANILA_API_VERSION": "2.99"},
}
COLLECTIONS = {"block": "/v3/volumes", "share": "/v2/shares"}
Get = Callable[[str], bytes]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", default="")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=40)
    arguments = parser.parse_args()
    for service in ("block", "share"):
        with ExitStack() as stack, tempfile.TemporaryDirectory() as directory:
            small, large = (
                stack.enter_context(api(service, Path(directory), arguments.database, rows))
                for rows in (SMALL, arguments.rows)
            )
            print(f"{service:22}{SMALL:>12} rows {arguments.rows:>12} rows     ratio   queries")
            for name, query in queries(small, large, service).items():
                compare(name, small, large, query, arguments.rounds)


def queries(small: Get, large: Get, service: str) -> dict[str, tuple[str, str]]:
    """What is asked for of the small list and of the large one."""
    path, key = COLLECTIONS[service], COLLECTIONS[service].rpartition("/")[2]
    middle = [json.loads(get(f"{path}?limit=1&offset={SMALL // 2}"))[key][0]["id"] for get in (small, large)]
    return {
        "limit=50": (f"{path}?limit=50",) * 2,
        "detail, limit=50": (f"{path}/detail?limit=50",) * 2,
        "behind a marker": (f"{path}?limit=50&marker={middle[0]}", f"{path}?limit=50&marker={middle[1]}"),
        "with status": (f"{path}?limit=50&status=available",) * 2,
        "by name": (f"{path}?limit=50&name=row-7",) * 2,
    }


def compare(name: str, small: Get, large: Get, query: tuple[str, str], rounds: int) -> None:
    counts = [counted(get, one) for get, one in zip((small, large), query, strict=True)]
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for get, one, found in zip((small, large), query, times, strict=True):
            begin = time.perf_counter()
            get(one)
            found.append(time.perf_counter() - begin)
    a, b = (statistics.median(found) * 1e3 for found in times)
    print(f"{name:22}{a:>14.2f} ms {b:>14.2f} ms{b / a:>10.2f}{counts[0]:>8}, {counts[1]}")


def counted(get: Get, query: str) -> int:
    """The number of queries that it costs."""
    statements: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        statements.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        get(query)
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    return len(statements)


@contextmanager
def api(service: str, directory: Path, server: str, rows: int) -> Iterator[Get]:
    """A service with `rows` volumes or shares; what GETs from it."""
    with database(server, directory, f"pumice_lists_{service}_{rows}") as url:
        overrides = {"DEFAULT": {"state_path": str(directory)}, "database": {"connection": url}}
        conf = config.load(service, (), overrides, backends=False)
        db = Database(url)
        migrations.upgrade(db, service)
        fill(db, service, rows)
        db.close()
        made = import_module(f"pumice.{service}.service").SERVICE(conf)
        try:
            yield getter(made, service)
        finally:
            made.stop()


@contextmanager
def database(server: str, directory: Path, name: str) -> Iterator[str]:
    if not server:
        yield f"sqlite:///{directory / name}"
        return
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"DROP DATABASE IF EXISTS {name}"))
        connection.execute(text(f"CREATE DATABASE {name}"))
        yield make_url(server).set(database=name).render_as_string(hide_password=False)
        connection.execute(text(f"DROP DATABASE {name}"))
    engine.dispose()


def fill(db: Database, service: str, rows: int) -> None:
    begin = utcnow()
    for start in range(0, rows, BATCH):
        values = [
            {
                "id": new_id(),
                "created_at": begin + datetime.timedelta(milliseconds=number),
                "project_id": PROJECT,
                "user_id": PROJECT,
                "status": "available",
                "size": 1,
                "name": f"row-{number}",
            }
            for number in range(start, min(rows, start + BATCH))
        ]
        if service == "block":
            db.write(lambda tx, values=values: tx.execute(insert(Volume), values))  # type: ignore[misc]
        else:
            db.write(lambda tx, values=values: add_shares(tx, values))  # type: ignore[misc]


def add_shares(tx: Any, values: list[dict[str, Any]]) -> None:
    tx.execute(insert(Share), [one | {"proto": "NFS"} for one in values])
    kept = ("created_at", "project_id", "status")
    instances = [{"id": new_id(), "share_id": one["id"]} | {name: one[name] for name in kept} for one in values]
    tx.execute(insert(ShareInstance), instances)


def getter(service: Any, name: str) -> Get:
    call = caller(service, name)

    def get(path_and_query: str) -> bytes:
        return call(path_and_query, "GET")

    return get


def caller(service: Any, name: str) -> Callable[..., bytes]:
    """What calls the API, in this process, as a member of the project: `call(path_and_query, method, body=None)`."""
    context = RequestContext(user_id=PROJECT, project_id=PROJECT, roles=frozenset({"member", "reader"}))

    def authenticated(app: Any) -> Any:
        return lambda environ, start_response: app({**environ, CONTEXT: context}, start_response)

    app = service.wsgi(authenticated)

    def call(path_and_query: str, method: str, body: Any = None) -> bytes:
        path, _, query = path_and_query.partition("?")
        statuses: list[str] = []
        sent = b"" if body is None else json.dumps(body).encode()
        environ: dict[str, Any] = {
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(sent)),
            "wsgi.input": io.BytesIO(sent),
            **VERSIONS[name],
        }
        setup_testing_defaults(environ)
        answer = b"".join(app(environ, lambda status, *_: statuses.append(status)))
        if not statuses[0].startswith("2"):
            raise RuntimeError(f"{method} {path_and_query}: {statuses[0]} {answer[:300]!r}")
        return answer

    return call


if __name__ == "__main__":
    main()
