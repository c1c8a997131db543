"""The routes of resource locks (section 16 of the API)."""

from __future__ import annotations

from pumice.kernel.api.routes import Route, Rule
from pumice.share.locks import handlers
from pumice.share.locks.shapes import CreateLock, LockView, UpdateLock

LOCKS, ONE = "/resource-locks", "/resource-locks/{id}"

_OF_SERVICES = "role:admin or role:service"
_MEMBER = f"{_OF_SERVICES} or (role:member and project_id:%(project_id)s)"
_READER = f"{_OF_SERVICES} or (role:reader and project_id:%(project_id)s)"
_OWNER = f"{_OF_SERVICES} or (user_id:%(user_id)s and project_id:%(project_id)s)"

ROUTES: list[Route] = [
    Route(
        "GET",
        LOCKS,
        handlers.index,
        "resource_lock:get_all",
        _READER,
        since="2.81",
        answer={"resource_locks": list[LockView]},
    ),
    Route(
        "POST",
        LOCKS,
        handlers.create,
        "resource_lock:create",
        _MEMBER,
        since="2.81",
        body=CreateLock,
        creates=True,
        answer={"resource_lock": LockView},
    ),
    Route("GET", ONE, handlers.show, "resource_lock:get", _READER, since="2.81", answer={"resource_lock": LockView}),
    Route(
        "PUT",
        ONE,
        handlers.update,
        "resource_lock:update",
        _OWNER,
        since="2.81",
        body=UpdateLock,
        answer={"resource_lock": LockView},
    ),
    Route("DELETE", ONE, handlers.delete, "resource_lock:delete", _OWNER, since="2.81", success=204),
]

RULES: list[Rule] = [
    Rule(name="resource_lock:get_all_projects", check=_OF_SERVICES, doc="List the resource locks of all projects."),
    Rule(
        name="resource_lock:bypass_locked_show_action",
        check=_OWNER,
        doc="Read the target and the key of an access rule that a lock hides.",
    ),
]
