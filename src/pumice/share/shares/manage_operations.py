"""Taking over shares that a backend has already, and letting go of those that it is to keep."""

from __future__ import annotations

from sqlalchemy import update
from sqlalchemy.orm import Session

from pumice.kernel.db.base import utcnow
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import Forbidden
from pumice.kernel.moves import End, Move
from pumice.kernel.operations.kinds import Done, Failure, Outcome
from pumice.kernel.operations.worker import Run
from pumice.kernel.quotas import adjust
from pumice.kernel.scheduling import pool
from pumice.kernel.steps import capable, row_of
from pumice.share.backends import alone, driver_of, refused_as
from pumice.share.drivers.base import Manages, ShareRef
from pumice.share.instances import exports
from pumice.share.message_codes import Action, Detail
from pumice.share.quotas.resources import growth_charge
from pumice.share.refs import share_ref
from pumice.share.shares.model import Share, ShareInstance
from pumice.share.shares.moves import STATUSES, TRANSITIONAL
from pumice.share.shares.moving import kind
from pumice.share.shares.operations import WHOLE, remove_rows


def manager_of(run: Run) -> Manages:
    """:raises Failure: the backend cannot take over or let go of anything"""
    return capable(run, Manages, "take over or let go of what it has")


def _found(run: Run) -> tuple[ShareInstance, ShareRef]:
    instance = row_of(run, ShareInstance)
    with run.db.read() as tx:
        return instance, share_ref(tx, instance)


def _manage(run: Run) -> Outcome:
    instance, ref = _found(run)
    manager, known = manager_of(run), driver_of(run).protocols
    if ref.proto not in known:
        raise Failure(f"{ref.proto} is no protocol of the backend: {', '.join(known)} are", detail=Detail.UNKNOWN)
    with refused_as(Detail.UNKNOWN):
        size, paths = manager.manage_share(ref, run.args["export_path"], run.args["driver_options"])

    def also(tx: Session) -> None:
        _count(tx, instance, size)
        exports.store(tx, instance, paths)

    return Done({"launched_at": utcnow(), "progress": WHOLE}, also)


def _count(tx: Session, instance: ShareInstance, size: int) -> None:
    """Let a share count as large as it turned out to be; it is there, so neither limit nor room refuses it."""
    share = everything().get(tx, Share, instance.share_id)
    adjust(tx, share.project_id, growth_charge(size - share.size, share.share_type_id, share.user_id))
    pool.claim(tx, instance.host or "", size - share.size, regardless=True)
    pool.settle(tx, instance.host or "", size)
    tx.execute(update(Share).where(Share.id == share.id).values(size=size))


def _unmanage(run: Run) -> Outcome:
    instance, ref = _found(run)
    with refused_as(Detail.UNKNOWN):
        manager_of(run).unmanage_share(ref)
    return Done(also=lambda tx: remove_rows(tx, instance))


MANAGE = kind(
    "manage",
    Move(name="manage", start=frozenset(), via="manage_starting", done="available", failed="manage_error"),
    steps={"run": alone(_manage)},
    action=Action.CREATE,
)
UNMANAGE = kind(
    "unmanage",
    Move(
        name="unmanage",
        start=frozenset(STATUSES) - TRANSITIONAL,
        via="unmanage_starting",
        done=End.GONE,
        failed="unmanage_error",
        refusal=Forbidden,
    ),
    steps={"run": alone(_unmanage)},
)

KINDS = (MANAGE, UNMANAGE)
