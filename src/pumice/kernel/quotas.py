"""Quotas: counters that change in the transaction of the change itself.

`used` of a resource is the sum over the rows that consume it, growth in flight included. One function,
`charge`, changes the counters; there are no reservations, so nothing can expire or drift. A decrease and an
unlimited resource are never refused. Limits come from the project's own, then the class `default`, then the
configuration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from oslo_db import exception as db_errors
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Insert,
    String,
    UpdateBase,
    bindparam,
    case,
    delete,
    insert,
    select,
    update,
)
from sqlalchemy.orm import Mapped, Session, mapped_column

from pumice.kernel.db.base import Base
from pumice.kernel.db.engine import TryAgain, changed, on
from pumice.kernel.errors import OverLimit

UNLIMITED = -1
DEFAULT_CLASS = "class:default"
"""The owner name of the limits that hold for every project without its own."""


class QuotaUsage(Base):
    """What a project uses of one resource."""

    __tablename__ = "quota_usages"

    project_id: Mapped[str] = mapped_column(String(255), primary_key=True)
    resource: Mapped[str] = mapped_column(String(300), primary_key=True)
    in_use: Mapped[int] = mapped_column(BigInteger, default=0)


class QuotaLimit(Base):
    """A limit set through the API, of a project or of a class (`class:<name>`)."""

    __tablename__ = "quota_limits"

    owner: Mapped[str] = mapped_column(String(255), primary_key=True)
    resource: Mapped[str] = mapped_column(String(300), primary_key=True)
    value: Mapped[int]


@dataclass(frozen=True, slots=True)
class Quota:
    """What one resource may use and uses; `limit` -1 is unlimited."""

    limit: int
    in_use: int


class Quotas:
    """:param defaults: limits by resource where nothing else is set; a resource that is not in it is unlimited
    :param use_default_class: whether the class `default` counts before them
    :param shown_as: the API's name of a resource, for messages
    """

    def __init__(
        self,
        defaults: Mapping[str, int],
        *,
        use_default_class: bool = True,
        shown_as: Callable[[Session, str], str] = lambda _tx, resource: resource,
    ) -> None:
        self._defaults = defaults
        self._classes = (DEFAULT_CLASS,) if use_default_class else ()
        self._shown_as = shown_as

    def charge(
        self, tx: Session, project_id: str, deltas: Mapping[str, int], sizes: Mapping[str, int] | None = None
    ) -> None:
        """Change the counters of a project, which are locked until the transaction ends: so late in it.

        :param deltas: resource → change in its unit (things, or GiB)
        :param sizes: what `check_size` would be asked besides: resource → size of the one thing that it bounds
        :raises OverLimit: an increase does not fit; names the resource, the limit and what is used
        """
        wanted, sizes = _changes(deltas), sizes or {}
        limits = self.limits(tx, project_id, [*sizes, *(resource for resource, delta in wanted.items() if delta > 0)])
        for resource, size in sizes.items():
            self._check_size(tx, resource, size, limits[resource])
        used = _locked(tx, project_id, wanted)
        for resource, delta in wanted.items():
            limit, in_use = limits.get(resource, UNLIMITED), used.get(resource, 0)
            if limit != UNLIMITED and delta > 0 and in_use + delta > limit:
                raise OverLimit(
                    f"The quota of {self._shown_as(tx, resource)} is exceeded: "
                    f"{delta} more are asked for, {in_use} of {limit} are in use."
                )
        _add(tx, project_id, wanted, new=wanted.keys() - used.keys())

    def limits(self, tx: Session, project_id: str, resources: Iterable[str]) -> dict[str, int]:
        """The limits that hold for a project, for each of `resources`."""
        return self._limits_of(tx, (project_id, *self._classes), resources)

    def class_limits(self, tx: Session, name: str, resources: Iterable[str]) -> dict[str, int]:
        """The limits of a quota class; those of `default` hold for every project without its own."""
        return self._limits_of(tx, (f"class:{name}",), resources)

    def quotas(self, tx: Session, project_id: str, resources: Iterable[str]) -> dict[str, Quota]:
        names = list(resources)
        limits = self.limits(tx, project_id, names)
        used = self.usages(tx, project_id)
        return {name: Quota(limits[name], used.get(name, 0)) for name in names}

    def usages(self, tx: Session, project_id: str) -> dict[str, int]:
        rows = tx.execute(select(QuotaUsage.resource, QuotaUsage.in_use).where(QuotaUsage.project_id == project_id))
        return {row.resource: row.in_use for row in rows}

    def check_size(self, tx: Session, project_id: str, resources: Iterable[str], size: int) -> None:
        """Of resources that bound one single thing, and that nothing counts for.

        :param size: of that thing, in GiB
        :raises OverLimit: it is above the limit of one of `resources`
        """
        for resource, limit in self.limits(tx, project_id, resources).items():
            self._check_size(tx, resource, size, limit)

    def _check_size(self, tx: Session, resource: str, size: int, limit: int) -> None:
        if limit != UNLIMITED and size > limit:
            raise OverLimit(
                f"The quota of {self._shown_as(tx, resource)} is exceeded: "
                f"one of {size} GiB is asked for, {limit} are allowed."
            )

    def set_limits(self, tx: Session, owner: str, limits: Mapping[str, int]) -> None:
        """:param owner: a project's id, or `class:<name>`"""
        for resource, value in sorted(limits.items()):
            here = (QuotaLimit.owner == owner, QuotaLimit.resource == resource)
            if not changed(tx, update(QuotaLimit).where(*here).values(value=value)):
                _insert(tx, insert(QuotaLimit).values(owner=owner, resource=resource, value=value))

    def drop_limits(self, tx: Session, owner: str, resources: Iterable[str] | None = None) -> None:
        """Forget the limits that were set for an owner: all of them, or those of `resources`."""
        statement = delete(QuotaLimit).where(QuotaLimit.owner == owner)
        tx.execute(statement if resources is None else statement.where(QuotaLimit.resource.in_(list(resources))))

    def forget(self, tx: Session, resources: Iterable[str]) -> None:
        """Remove all limits and counters of resources that exist no more (those of a deleted type)."""
        names = list(resources)
        tx.execute(delete(QuotaLimit).where(QuotaLimit.resource.in_(names)))
        tx.execute(delete(QuotaUsage).where(QuotaUsage.resource.in_(names)))

    def _limits_of(self, tx: Session, owners: tuple[str, ...], resources: Iterable[str]) -> dict[str, int]:
        names = list(resources)
        found = self._set_for(tx, owners, names)
        return {
            name: next(
                (found[owner, name] for owner in owners if (owner, name) in found),
                self._defaults.get(name, UNLIMITED),
            )
            for name in names
        }

    def own_limits(self, tx: Session, owner: str, resources: Iterable[str]) -> dict[str, int]:
        """The limits that were set for an owner itself, of those of `resources` that have one."""
        return {resource: value for (_, resource), value in self._set_for(tx, (owner,), list(resources)).items()}

    def _set_for(self, tx: Session, owners: tuple[str, ...], names: list[str]) -> dict[tuple[str, str], int]:
        """(owner, resource) → the limit, where one was set."""
        if not names:
            return {}
        rows = tx.execute(_SET, {"owners": owners, "resources": names})
        return {(row.owner, row.resource): row.value for row in rows}


def check(tx: Session, charges: Iterable[tuple[str, Mapping[str, int]]]) -> list[str]:
    """Compare the counters with what the rows consume; one line a difference.

    :param charges: the project and the charge of each row
    """
    sums: Counter[tuple[str, str]] = Counter()
    for owner, charge in charges:
        for name, amount in charge.items():
            sums[owner, name] += amount
    statement = select(QuotaUsage).where(QuotaUsage.in_use != 0)
    counters = {(usage.project_id, usage.resource): usage.in_use for usage in tx.scalars(statement)}
    return [
        f"project {project}: {resource} counts {counters.get((project, resource), 0)}, "
        f"the rows say {sums[project, resource]}"
        for project, resource in sorted({*counters, *(key for key, total in sums.items() if total)})
        if counters.get((project, resource), 0) != sums[project, resource]
    ]


def refund(tx: Session, project_id: str, charged: Mapping[str, int]) -> None:
    """Take back what was charged for something that is gone; never refused.

    :param charged: resource → what it was charged with
    """
    adjust(tx, project_id, {resource: -amount for resource, amount in charged.items()})


def adjust(tx: Session, project_id: str, deltas: Mapping[str, int]) -> None:
    """Change the counters of a project by what is a fact already, whatever the limits."""
    changes = _changes(deltas)
    used = _locked(tx, project_id, changes)
    new = {resource for resource, delta in changes.items() if resource not in used and delta > 0}
    _add(tx, project_id, changes, new=new)


def _changes(deltas: Mapping[str, int]) -> dict[str, int]:
    return {resource: delta for resource, delta in deltas.items() if delta}


_USAGES, _LIMITS = on(QuotaUsage), on(QuotaLimit)
_COUNTERS = (
    _USAGES.c.project_id == bindparam("the_project"),
    _USAGES.c.resource.in_(bindparam("resources", expanding=True)),
)
_LOCKED = select(_USAGES.c.resource, _USAGES.c.in_use).where(*_COUNTERS).order_by(_USAGES.c.resource).with_for_update()
_SET = select(_LIMITS).where(
    _LIMITS.c.owner.in_(bindparam("owners", expanding=True)),
    _LIMITS.c.resource.in_(bindparam("resources", expanding=True)),
)


def _locked(tx: Session, project_id: str, resources: Iterable[str]) -> dict[str, int]:
    """What is in use of those resources that have a counter; locked in one order, so that no two charges deadlock."""
    rows = tx.execute(_LOCKED, {"the_project": project_id, "resources": list(resources)})
    return {row.resource: row.in_use for row in rows}


def _add(tx: Session, project_id: str, changes: Mapping[str, int], *, new: Collection[str]) -> None:
    """:param new: resources that have no counter yet"""
    known = [(resource, delta) for resource, delta in changes.items() if resource not in new]
    if known:
        each = {f"{name}_{n}": value for n, pair in enumerate(known) for name, value in zip(_PAIR, pair, strict=True)}
        names = {"the_project": project_id, "resources": [resource for resource, _ in known]}
        changed(tx, _adding(len(known)), names | each)
    if new:
        rows = [{"project_id": project_id, "resource": name, "in_use": changes[name]} for name in sorted(new)]
        _insert(tx, insert(QuotaUsage).values(rows))


_PAIR = ("resource", "delta")


@cache
def _adding(number: int) -> UpdateBase:
    """An UPDATE that adds to some counters, each its own."""
    resource, delta = _PAIR
    each: list[tuple[ColumnElement[bool], Any]] = [
        (_USAGES.c.resource == bindparam(f"{resource}_{n}"), bindparam(f"{delta}_{n}")) for n in range(number)
    ]
    return update(_USAGES).where(*_COUNTERS).values(in_use=_USAGES.c.in_use + case(*each))


def _insert(tx: Session, statement: Insert) -> None:
    try:
        tx.execute(statement)
    except db_errors.DBDuplicateEntry as error:
        # Another transaction was faster with the first row of all: ours begins anew and finds it.
        raise TryAgain from error
