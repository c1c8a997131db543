"""A small service: stones, in one table, with one of each thing that a route table can say."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import falcon.testing
from msgspec import UNSET, UnsetType, field
from sqlalchemy import ColumnElement
from sqlalchemy.orm import Mapped as Column
from sqlalchemy.orm import Session, mapped_column

from pumice.kernel.answered import Answered
from pumice.kernel.api.app import build_app
from pumice.kernel.api.fields import Named, Since, Until
from pumice.kernel.api.request import Reply, Request
from pumice.kernel.api.routes import ADMIN, ANYONE, READER, Route, Rule
from pumice.kernel.api.shapes import Alias, Shape
from pumice.kernel.api.values import Boolean, Description, Metadata, Name, Size, Uuid, matching
from pumice.kernel.api.versions import Dialect, Version
from pumice.kernel.api.views import Guarded, Mapped, Of, OmitNone, View
from pumice.kernel.auth.context import RequestContext
from pumice.kernel.db.base import Base, Owned, new_id
from pumice.kernel.db.engine import Database
from pumice.kernel.db.filters import flag, pairs, text, times, whole_number
from pumice.kernel.db.paging import Filter, Listing
from pumice.kernel.errors import Conflict, OverLimit, ServerFault
from tests.support.databases import url_of
from tests.support.identity import PROJECT_A, Identity

DIALECT = Dialect(
    service="volume",
    title="Stones",
    minimum=Version(3, 0),
    maximum=Version(3, 71),
    base="/v3",
    project_optional_from="3.67",
    unknown_filters_refused_from="3.31",
    like_filters_from="3.34",
    updated="2023-08-31T00:00:00Z",
    media_type="application/vnd.openstack.volume+json;version=3",
)

SpecKey = Annotated[str, matching(re.compile(r"[A-Za-z0-9\-_:.]{1,255}"), "letters, digits, - _ : and . are allowed")]


class Stone(Base, Owned):
    __tablename__ = "toy_stones"
    __label__ = "Stone"

    name: Column[str | None]
    size: Column[int]
    weight: Column[float | None]
    polished: Column[bool] = mapped_column(default=False)
    host: Column[str | None]
    secret: Column[str | None]
    meta: Column[dict[str, str]] = mapped_column(default=dict)

    @classmethod
    def visible_to(cls, project_id: str) -> ColumnElement[bool]:
        return cls.project_id == project_id


class Vein(View):
    stone_id: Annotated[str, Of(lambda row, req: row.id)]
    seen: Annotated[datetime.datetime, Of(lambda row, req: row.created_at)]


class StoneSummary(View):
    id: str
    name: str | None
    links: Annotated[list[dict[str, str]], Of(lambda row, req: req.links("stones", row.id))]


class StoneDetail(StoneSummary):
    size: int
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
    polished: Annotated[str, Of(lambda row, req: "true" if row.polished else "false")]
    host: Annotated[str | None, Named("stone-host-attr:host"), Guarded("stone:host")]
    meta: Annotated[dict[str, str], Named("metadata"), Since("3.5")]
    weight: Annotated[float | None, Mapped("3.69", lambda value: 0.0 if value is None else value)]
    old: Annotated[str, Until("3.6"), Of(lambda row, req: "old")]
    tag: Annotated[str | None, OmitNone(), Of(lambda row, req: row.meta.get("tag"))]
    veins: Annotated[list[Vein], Since("3.8"), Of(lambda row, req: [row])]


class NewStone(Shape, strict="3.53"):
    size: Size
    name: Annotated[Name | None, Alias("display_name")] = None
    description: Description | None = None
    metadata: Metadata = field(default_factory=dict)
    quarry_id: Annotated[Uuid | None, Since("3.13")] = None
    polished: Boolean = False
    chisel: Annotated[Name | None, Until("3.20")] = None


class CreateStone(Shape):
    stone: NewStone
    hints: Annotated[dict[str, Any] | None, Named("OS-HINTS:hints")] = None


class StoneChanges(Shape, strict=True):
    name: Annotated[Name | UnsetType | None, Alias("display_name")] = UNSET
    metadata: Metadata | UnsetType = UNSET

    def __post_init__(self) -> None:
        if not self.given():
            raise ValueError("nothing is given: name or metadata is expected")


class UpdateStone(Shape, strict=True):
    stone: StoneChanges


class Cut(Shape, strict=True):
    new_size: Size


STONES = Listing(
    Stone,
    "stone",
    configured=("name", "metadata", "size", "polished", "created_at", "quarry"),
    filters=(
        Filter("name", Stone.name, text),
        Filter("metadata", Stone.meta, pairs),
        Filter("size", Stone.size, whole_number),
        Filter("polished", Stone.polished, flag("3.2")),
        Filter("created_at", Stone.created_at, times, since="3.60"),
        Filter("quarry", lambda value, req: Stone.host == f"quarry-{value}"),
    ),
    sort={"name": Stone.name, "size": Stone.size, "weight": Stone.weight},
    sort_since={"name": "3.30"},
    secret=frozenset({"secret"}),
    other=frozenset({"colour"}),
    count_from="3.45",
)


def index(req: Request) -> dict[str, Any]:
    with req.service.db.read() as tx:
        page = STONES.page(tx, req)
    return req.page("stones", StoneSummary, page)


def details(req: Request) -> dict[str, Any]:
    with req.service.db.read() as tx:
        page = STONES.page(tx, req)
    return req.page("stones", StoneDetail, page, links_key="stone_links")


def create(req: Request) -> Any:
    wanted, id = req.body.stone, new_id()

    def work(tx: Session) -> Stone:
        row = Stone(
            id=id,
            project_id=req.context.project_id,
            user_id=req.context.user_id,
            name=wanted.name,
            size=wanted.size,
            polished=wanted.polished,
            meta=wanted.metadata,
        )
        tx.add(row)
        req.reply_headers["X-Operation-Id"] = id
        return row

    return req.once(work, lambda row: {"stone": req.view(StoneDetail, row)})


def show(req: Request, row: Stone) -> Any:
    req.reply_headers["ETag"] = str(row.size)
    return {"stone": req.view(StoneDetail, row)}


def update(req: Request, row: Stone) -> Any:
    return {"given": req.body.stone.given()}


def delete(req: Request, row: Stone) -> None:
    req.service.db.write(lambda tx: tx.delete(tx.merge(row)))


def cut(req: Request, row: Stone) -> Any:
    return {"cut": req.body.new_size, "old": row.size}


def throw(req: Request, row: Stone) -> Any:
    return {"thrown": row.id}


def put_spec(req: Request, row: Stone, key: str) -> Any:
    return {key: req.body.get(key)}


def raising(error: Exception) -> Any:
    def handler(req: Request) -> None:
        raise error

    return handler


STONE = "/stones/{id}"
TABLE = [
    Route("GET", "/stones", index, "stone:list", READER, answer={"stones": list[StoneSummary]}),
    Route("GET", "/stones/detail", details, "stone:list", READER, answer={"stones": list[StoneDetail]}),
    Route(
        "POST",
        "/stones",
        create,
        "stone:create",
        body=CreateStone,
        success=202,
        creates=True,
        answer={"stone": StoneDetail},
    ),
    Route("GET", STONE, show, "stone:get", READER, load=Stone, answer={"stone": StoneDetail}),
    Route("PUT", STONE, update, "stone:update", body=UpdateStone, load=Stone),
    Route("DELETE", STONE, delete, "stone:delete", load=Stone, success=204),
    Route("PUT", "/stones/{stone_id}/specs/{key}", put_spec, "stone:spec", ADMIN, body=dict[str, SpecKey], load=Stone),
    Route("POST", f"{STONE}/action", cut, "stone:cut", body=Cut, action="cut", load=Stone, success=202),
    Route("POST", f"{STONE}/action", throw, "stone:throw", ADMIN, action="throw", since="3.10", load=Stone),
    Route("GET", "/quarries", lambda req: {"old": True}, "", ANYONE, until="3.9"),
    Route("GET", "/quarries", lambda req: {"old": False}, "", ANYONE, since="3.10", aliases=("/os-quarries",)),
    Route("GET", "/late", lambda req: Reply({"late": 1}, status=203, headers={"X-Late": "yes"}), "", since="3.40"),
    Route("GET", "/bytes", lambda req: b'{"raw":true}', ""),
    Route("GET", "/two", lambda req: None, ("stone:list", "stone:two"), ADMIN),
    Route("GET", "/trial", lambda req: {}, "", experimental_until="3.20"),
    Route("GET", "/conflict", raising(Conflict("it is taken", headers={"X-Why": "taken"})), ""),
    Route("GET", "/over", raising(OverLimit("too many")), ""),
    Route("GET", "/fault", raising(ServerFault("the quarry is closed")), ""),
    Route("GET", "/bug", raising(ZeroDivisionError("password=hunter2")), ""),
]
RULES = [Rule(name="stone:host", check=ADMIN), Rule(name="stone:list", check=READER)]


class ToyPolicy:
    """Enough of a policy: admin, or the role in the target's project."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def authorize(self, context: RequestContext, rule: str, target: Any) -> bool:
        self.asked.append(rule)
        if "admin" in context.roles:
            return True
        if rule in {"stone:host", "stone:throw", "stone:spec", "stone:two"}:
            return False
        role = "reader" if rule in {"stone:list", "stone:get"} else "member"
        return role in context.roles and target["project_id"] == context.project_id


class ToyMetrics:
    def __init__(self) -> None:
        self.seen: list[tuple[str, str, int]] = []

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        self.seen.append((method, route, status))


class Toy:
    """The service, its client, and a few words for tests."""

    def __init__(self, directory: Path, dialect: Dialect = DIALECT, table: list[Route] = TABLE, **options: Any) -> None:
        self.db = Database(url_of(directory / "toy.sqlite"))
        tables: list[Any] = [Stone.__table__, Answered.__table__]
        Base.metadata.create_all(self.db.engine, tables=tables)
        self.policy = ToyPolicy()
        self.metrics = ToyMetrics()
        self.resource_filters: dict[str, list[str]] = {}
        self.conf = SimpleNamespace(
            **{
                "osapi_max_limit": 1000,
                "public_endpoint": None,
                "project_id_regex": r"[0-9a-f\-]+",
                "oslo_middleware": SimpleNamespace(max_request_body_size=114688),
                **options,
            }
        )
        service: Any = self
        self.app = build_app(service, table, RULES, dialect)
        self.client = falcon.testing.TestClient(Identity(self.app))

    def add(self, **values: Any) -> Stone:
        row = Stone(**{"id": new_id(), "project_id": PROJECT_A, "size": 1, "user_id": "u", **values})
        self.db.write(lambda tx: tx.add(row))
        return row

    def call(
        self,
        method: str,
        path: str,
        *,
        version: str | None = "3.71",
        who: str = "member_a",
        project: str | None = PROJECT_A,
        body: Any = None,
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> falcon.testing.Result:
        """A request below the base path; `body` is JSON-able, or bytes sent as they are."""
        url, _, query = path.partition("?")
        sent = {"X-Test-Identity": who, **(headers or {})}
        if version:
            sent["OpenStack-API-Version"] = f"volume {version}"
        if isinstance(body, bytes):
            more |= {"body": body}
        elif body is not None:
            more |= {"json": body}
        where = f"/v3/{project}{url}" if project else f"/v3{url}"
        return self.client.simulate_request(method, where, query_string=query, headers=sent, **more)
