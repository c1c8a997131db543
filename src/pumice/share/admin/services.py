"""Workers: which there are, which take no new work, and having one see to all its shares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from pumice.kernel import services
from pumice.kernel.db.base import new_id
from pumice.kernel.errors import ApiError, BadRequest, Conflict, NotFound
from pumice.kernel.services import WorkerService, state_word, status_word, up
from pumice.share import binaries
from pumice.share.admin import operations
from pumice.share.admin.shapes import REASONS_FROM, ChangedService, ServiceDetail
from pumice.share.backends import queue_of
from pumice.share.instances.exports import on_backend

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

FILTER_ENSURING_FROM = "2.93"
CHUNK = 50
"""Shares whose operations are written in one transaction."""

Test = Callable[[WorkerService], bool]


def index(req: Request) -> dict[str, Any]:
    with req.service.db.read() as tx:
        rows = _with_ensuring(tx, services.find(tx))
    tests = list(_tests(req))
    return {"services": req.views(ServiceDetail, [row for row in rows if all(test(row) for test in tests)])}


def _with_ensuring(tx: Session, rows: Sequence[WorkerService]) -> Sequence[WorkerService]:
    """The rows, each with whether it is seeing to its shares."""
    busy = operations.busy_queues(tx)
    for row in rows:
        row.ensuring = row.binary == binaries.SHARE and queue_of(row.cluster or row.host) in busy  # type: ignore[attr-defined]
    return rows


def _tests(req: Request) -> Iterable[Test]:
    """What the query says; a word that no service has matches none."""
    query = req.query
    values: dict[str, Callable[[WorkerService], Any]] = {
        "host": attrgetter("host"),
        "binary": attrgetter("binary"),
        "zone": attrgetter("availability_zone"),
        "status": lambda row: status_word(row, req),
        "state": lambda row: state_word(row, req),
    }
    for name, value_of in values.items():
        if (wanted := query.get(name)) is not None:
            yield partial(_equals, value_of, wanted)
    if "ensuring" in query and req.version >= FILTER_ENSURING_FROM:
        yield partial(_equals, attrgetter("ensuring"), query.boolean("ensuring"))


def _equals(value_of: Callable[[WorkerService], Any], wanted: Any, row: WorkerService) -> bool:
    return bool(value_of(row) == wanted)


def enable(req: Request) -> dict[str, Any]:
    return _set_disabled(req, False, None)


def disable(req: Request) -> dict[str, Any]:
    reason = req.body.disabled_reason
    if reason is not None and req.version < REASONS_FROM:
        raise BadRequest(f"disabled_reason is refused: services have one from {REASONS_FROM} on.")
    return _set_disabled(req, True, reason)


def _set_disabled(req: Request, disabled: bool, reason: str | None) -> dict[str, Any]:
    def work(tx: Session) -> WorkerService:
        row = services.set_disabled(tx, req.body.host, req.body.binary, disabled, reason)
        return _with_ensuring(tx, [row])[0]

    return req.view(ChangedService, req.service.db.write(work))


def ensure(req: Request) -> None:
    """Have a backend see that all its shares are there and exported as their rules say."""
    host: str = req.body.asked()
    with req.service.db.read() as tx:
        rows = [row for row in services.find(tx, host=host, binary=binaries.SHARE) if row.host == host]
        if not rows:
            raise NotFound(f"Service {binaries.SHARE} on host {host} could not be found.")
        if not up(rows[0], req):
            raise Conflict(f"Service {binaries.SHARE} on host {host} is not up.")
        backend = rows[0].cluster or rows[0].host
        instances = on_backend(tx, backend)
    for start in range(0, len(instances), CHUNK):
        _ensure_some(req, backend, [(id, new_id()) for id in instances[start : start + CHUNK]])


def _ensure_some(req: Request, backend: str, instances: Sequence[tuple[str, str]]) -> None:
    """Submit for each (instance id, operation id); what is being changed is seen to by whoever changes it."""
    shown = req.service.conf.update_shares_status_on_ensure

    def work(tx: Session) -> None:
        for instance_id, operation_id in instances:
            try:
                operations.begin(tx, req, instance_id, queue_of(backend), id=operation_id, shown=shown)
            except ApiError:
                continue

    req.service.db.write(work)
