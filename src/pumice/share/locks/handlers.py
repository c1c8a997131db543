"""Resource locks over the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from pumice.kernel import moves
from pumice.kernel.db.filters import not_after, not_before
from pumice.kernel.db.paging import Filter, Listing
from pumice.kernel.db.scope import Scope, everything
from pumice.kernel.errors import BadRequest, Conflict, Forbidden, NotFound
from pumice.share.access.model import AccessRule
from pumice.share.locks import placing
from pumice.share.locks.model import ResourceLock
from pumice.share.locks.shapes import LockView
from pumice.share.shares.model import Share

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

_COLUMNS = (
    "id",
    "user_id",
    "resource_id",
    "resource_type",
    "lock_context",
    "resource_action",
    "lock_reason",
    "created_at",
    "updated_at",
)


LOCKS: Listing[ResourceLock] = Listing(
    ResourceLock,
    "resource_lock",
    configured=(*_COLUMNS[:7], "created_since", "created_before"),
    filters=(
        Filter("created_since", ResourceLock.created_at, not_before),
        Filter("created_before", ResourceLock.created_at, not_after),
    ),
    sort={name: getattr(ResourceLock, name) for name in _COLUMNS},
    secret=frozenset(("rule_id",)),
    other=frozenset(("all_projects", "project_id")),
    count_from="2.81",
)


def index(req: Request) -> dict[str, Any]:
    where, scope = [], req.own
    if req.asks_all("all_projects") or req.asks_all():
        req.authorize("resource_lock:get_all_projects")
        scope = everything()
        if project := req.query.get("project_id"):
            where.append(ResourceLock.project_id == project)
    with req.service.db.read() as tx:
        page = LOCKS.page(tx, req, scope=scope, where=where)
    return req.page("resource_locks", LockView, page)


def show(req: Request, id: str) -> dict[str, Any]:
    with req.service.db.read() as tx:
        lock = _scope(req).get(tx, ResourceLock, id)
    return {"resource_lock": req.view(LockView, lock)}


def create(req: Request) -> Any:
    asked = req.body.resource_lock
    model: type[Any] = Share if asked.resource_type == placing.SHARE else AccessRule

    def work(tx: Session) -> ResourceLock:
        resource = req.get(tx, model, asked.resource_id, scope=_scope(req))
        if resource.project_id != req.context.project_id and not _everywhere(req):
            raise Forbidden(f"{model.__label__} {resource.id} is another project's.")
        return placing.place(
            tx,
            req.context,
            asked.resource_type,
            resource.id,
            action=asked.resource_action,
            reason=asked.lock_reason,
            rule_id=resource.id if asked.resource_type == placing.RULE else None,
        )

    try:
        return req.once(work, lambda lock: {"resource_lock": req.view(LockView, lock)})
    except NotFound as error:
        raise BadRequest(error.message) from None


def update(req: Request, id: str) -> dict[str, Any]:
    changes = req.body.resource_lock.given()

    def work(tx: Session) -> ResourceLock:
        lock = _own(tx, req, id, "resource_lock:update")
        action = changes.get("resource_action", lock.resource_action)
        if action != lock.resource_action:
            try:
                placing.suit(tx, lock.resource_type, lock.resource_id, action)
            except Conflict as error:
                raise BadRequest(error.message) from None
        return moves.touch(tx, ResourceLock, lock.id, **changes)

    return {"resource_lock": req.view(LockView, req.service.db.write(work))}


def delete(req: Request, id: str) -> None:
    def work(tx: Session) -> None:
        tx.delete(_own(tx, req, id, "resource_lock:delete"))

    req.service.db.write(work)


def _own(tx: Session, req: Request, id: str, policy: str) -> ResourceLock:
    """A lock that the caller may change.

    :raises Forbidden: it is somebody else's, or was placed by a service or an administrator
    """
    lock = _scope(req).get(tx, ResourceLock, id)
    req.authorize(policy, {"project_id": lock.project_id, "user_id": lock.user_id})
    if not placing.may_change(req.context, lock):
        raise Forbidden(f"Resource lock {id} was placed by {lock.lock_context}s: it is not yours to change.")
    return lock


def _everywhere(req: Request) -> bool:
    return req.context.is_admin or placing.is_service(req.context)


def _scope(req: Request) -> Scope:
    """Services see the locks of all projects, as administrators do."""
    return everything() if _everywhere(req) else req.own
