"""Types of resources (volume types, share types): what both services' types have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from oslo_db import exception as db_errors
from sqlalchemy import ColumnElement, Select, String, delete, or_, select
from sqlalchemy.orm import Mapped, Session, declared_attr, mapped_column

from pumice.kernel.api.views import View
from pumice.kernel.db.base import Identified, new_id
from pumice.kernel.db.scope import Scope, everything
from pumice.kernel.errors import ApiError, BadRequest, Conflict, NotFound

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

Specs = dict[str, Any]


class AccessRow:
    """That a project may see and use a private type."""

    type_id: Mapped[str] = mapped_column(String(36), primary_key=True)
    project_id: Mapped[str] = mapped_column(String(255), primary_key=True, index=True)


class TypeRow(Identified):
    """Columns of a type. `extra_specs` are read and written whole."""

    __label__: ClassVar[str]
    __access__: ClassVar[type[AccessRow]]

    description: Mapped[str | None]
    is_public: Mapped[bool] = mapped_column(default=True)
    extra_specs: Mapped[dict[str, Any]] = mapped_column(default=dict)

    @declared_attr
    @classmethod
    def name(cls) -> Mapped[str]:
        return mapped_column(String(255), unique=True)

    @classmethod
    def visible_to(cls, project_id: str) -> ColumnElement[bool]:
        shared = select(cls.__access__.type_id).where(cls.__access__.project_id == project_id)
        return or_(cls.is_public, cls.id.in_(shared))


T = TypeVar("T", bound=TypeRow)


def find_type(tx: Session, model: type[T], scope: Scope, name_or_id: str, *, hold: bool = False) -> T:
    """The type of that id or name; an id goes first.

    :param hold: keep it as it is until the transaction ends: it is not deleted and its extra specs do not change
        before those who would do that see what the transaction has made of the type
    :raises NotFound: there is none, or it is not this scope's to see
    """
    named: Select[Any] = scope.select(model).where(or_(model.id == name_or_id, model.name == name_or_id))
    found: list[T] = list(tx.scalars(named.with_for_update(read=True) if hold else named))
    if not found:
        raise NotFound(f"{model.__label__} {name_or_id} could not be found.")
    return min(found, key=lambda one: one.id != name_or_id)


def specs_of(tx: Session, model: type[TypeRow], id: str | None) -> Specs:
    """The extra specs of the type that a resource has, if it has one."""
    found = everything().find(tx, model, id) if id else None
    return found.extra_specs if found else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class TypesOf(Generic[T]):
    """What an API does with its types: making and removing them, who may use them, and their extra specs.

    :param key: the API's word, "volume_type"
    :param access_view: of the rows that say who may use a type
    :param visible: the extra specs that a caller may read
    :param quota_keys: what quotas count for the type of an id
    :param check_specs: raises where a type may not get these extra specs
    :param check_change: raises where the extra specs of a type may not be added to or changed
    :param check_spec_removal: raises where an extra spec of that name has to stay
    :param check_removal: raises where a type has to stay
    :param public_refusal: what changing the access to a type raises that everybody may use
    :param every_word: of the filter is_public, for public and private types alike
    """

    model: type[T]
    key: str
    access_view: type[View]
    visible: Callable[[T, Request], Specs]
    quota_keys: Callable[[str], Iterable[str]]
    check_specs: Callable[[Specs], None]
    check_change: Callable[[Session, T], None]
    check_spec_removal: Callable[[Request, str], None]
    check_removal: Callable[[Session, Request, T], None]
    public_refusal: type[ApiError]
    every_word: str

    # Types

    def listed(self, req: Request) -> tuple[Scope, list[ColumnElement[bool]]]:
        """Whose types a list is made of, and which of them: only admins choose by is_public."""
        word = req.query.get("is_public")
        if word is None or not req.context.is_admin:
            return req.own, []
        if word.lower() == self.every_word:
            return everything(), []
        return everything(), [self.model.is_public.is_(req.query.boolean("is_public"))]

    def create(self, req: Request, asked: Any, specs: Specs, answer: Callable[[T], Any]) -> Any:
        """:param asked: the body's shape: name, description and is_public of the type
        :param answer: as `req.once` takes it
        :raises Conflict: the name is taken
        """
        self.check_specs(specs)
        id = new_id()

        def work(tx: Session) -> T:
            model: Any = self.model
            given = {"name": asked.name, "description": asked.description, "is_public": asked.is_public}
            row: T = model(id=id, extra_specs=specs, **given)
            tx.add(row)
            return self._stored(tx, req, row, "create")

        return req.once(work, answer)

    def update(self, req: Request, id: str, **values: Any) -> T:
        """:raises Conflict: the name is taken"""

        def work(tx: Session) -> T:
            row = self.locked(tx, req, id)
            for name, value in values.items():
                setattr(row, name, value)
            return self._stored(tx, req, row, "update")

        return req.service.db.write(work)

    def _stored(self, tx: Session, req: Request, row: T, event: str) -> T:
        name = row.name
        try:
            tx.flush()
        except db_errors.DBDuplicateEntry as error:
            raise Conflict(f"{row.__label__} {name} exists already; names are unique.") from error
        self._notify(tx, req, event, row)
        return row

    def remove(self, req: Request, id: str) -> None:
        def work(tx: Session) -> None:
            row = self.locked(tx, req, id)
            self.check_removal(tx, req, row)
            access = self.model.__access__
            tx.execute(delete(access).where(access.type_id == id))
            req.service.quotas.forget(tx, self.quota_keys(id))
            self._notify(tx, req, "delete", row)
            tx.delete(row)

        req.service.db.write(work)

    def locked(self, tx: Session, req: Request, id: str) -> T:
        """The type, which nobody else changes or makes something of until the transaction ends (`find_type`).

        :raises NotFound:
        """
        statement: Select[Any] = req.scope.select(self.model).where(self.model.id == id).with_for_update()
        row: T | None = tx.scalars(statement).one_or_none()
        if row is None:
            raise NotFound(f"{self.model.__label__} {id} could not be found.")
        return row

    def _notify(self, tx: Session, req: Request, event: str, row: T) -> None:
        described = {
            "id": row.id,
            "name": row.name,
            "description": row.description,
            "is_public": row.is_public,
            "extra_specs": row.extra_specs,
        }
        self._emit(tx, req, f"{self.key}.{event}", {f"{self.key}s": described})

    def _emit(self, tx: Session, req: Request, event_type: str, payload: dict[str, Any]) -> None:
        """Tell of a change that no operation makes: the request's id stands for the operation's."""
        req.service.notifier.emit(tx, req.context.request_id, event_type, payload)

    # Access

    def access(self, req: Request, type_id: str) -> dict[str, Any]:
        access: Any = self.model.__access__
        with req.service.db.read() as tx:
            row = req.scope.get(tx, self.model, type_id)
            if row.is_public:
                raise NotFound(f"{row.__label__} {row.name} is public: there is no list of who may use it.")
            entries = everything().select(access).where(access.type_id == type_id)
            rows = tx.scalars(entries.order_by(access.project_id)).all()
        return {f"{self.key}_access": req.views(self.access_view, rows)}

    def add_access(self, req: Request, id: str) -> None:
        project_id = req.body.project

        def work(tx: Session) -> None:
            row = self._private(tx, req, id)
            entry = self._entry(id, project_id)
            if tx.get(row.__access__, entry):
                raise Conflict(f"Project {project_id} may use {row.__label__.lower()} {row.name} already.")
            tx.add(row.__access__(**entry))
            self._notify_access(tx, req, "add", id)

        req.service.db.write(work)

    def remove_access(self, req: Request, id: str) -> None:
        project_id = req.body.project

        def work(tx: Session) -> None:
            row = self._private(tx, req, id)
            found = tx.get(row.__access__, self._entry(id, project_id))
            if found is None:
                raise NotFound(f"{row.__label__} {row.name} is not shared with project {project_id}.")
            tx.delete(found)
            self._notify_access(tx, req, "remove", id)

        req.service.db.write(work)

    def _private(self, tx: Session, req: Request, type_id: str) -> T:
        row = self.locked(tx, req, type_id)
        if row.is_public:
            raise self.public_refusal(f"{row.__label__} {row.name} is public: everybody may use it.")
        return row

    def _entry(self, type_id: str, project_id: str) -> dict[str, str]:
        return {"type_id": type_id, "project_id": project_id}

    def _notify_access(self, tx: Session, req: Request, event: str, type_id: str) -> None:
        payload = {f"{self.key}_id": type_id, "project_id": req.body.project}
        self._emit(tx, req, f"{self.key}_project.access.{event}", payload)

    # Extra specs

    def specs(self, req: Request, type_id: str) -> dict[str, Any]:
        return {"extra_specs": self._visible(req, type_id)}

    def spec(self, req: Request, type_id: str, key: str) -> Specs:
        return {key: self._known(self._visible(req, type_id), key)}

    def _visible(self, req: Request, type_id: str) -> Specs:
        with req.service.db.read() as tx:
            return self.visible(req.scope.get(tx, self.model, type_id), req)

    def _known(self, specs: Specs, key: str) -> Any:
        if key not in specs:
            raise NotFound(f"{self.model.__label__} has no extra spec {key}.")
        return specs[key]

    def add_specs(self, req: Request, type_id: str) -> dict[str, Any]:
        given: Specs = req.body.extra_specs
        self._change(req, type_id, "create", lambda specs: specs | given)
        return {"extra_specs": given}

    def set_spec(self, req: Request, type_id: str, key: str) -> Specs:
        given: Specs = req.body
        if list(given) != [key]:
            raise BadRequest(
                f"The body holds {', '.join(given) or 'nothing'}: exactly the key of the path, {key}, is allowed."
            )
        self._change(req, type_id, "update", lambda specs: specs | given)
        return given

    def remove_spec(self, req: Request, type_id: str, key: str) -> None:
        self.check_spec_removal(req, key)

        def without(specs: Specs) -> Specs:
            self._known(specs, key)
            return {name: value for name, value in specs.items() if name != key}

        self._change(req, type_id, "delete", without)

    def _change(self, req: Request, type_id: str, event: str, change: Callable[[Specs], Specs]) -> None:
        def work(tx: Session) -> None:
            row = self.locked(tx, req, type_id)
            specs = change(row.extra_specs)
            if event != "delete":
                self.check_change(tx, row)
                self.check_specs(specs)
            row.extra_specs = specs
            self._emit(tx, req, f"{self.key}_extra_specs.{event}", {"type_id": type_id, "specs": specs})

        req.service.db.write(work)
