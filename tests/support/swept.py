"""What must hold for every row of a service's table, as tests to inherit, and the things that these ask for.

class TestBlock(Swept):
    api = API

    @pytest.fixture(scope="class")
    def things(self, ...) -> Iterator[Things]: ...
"""

from __future__ import annotations

import itertools
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import pytest
from falcon.testing import Result
from sqlalchemy import select

from pumice.kernel.api.routes import READER, Route
from pumice.kernel.api.table import Api
from pumice.kernel.api.versions import Dialect, Version
from tests.support import sweeps
from tests.support.blockservice import Block
from tests.support.identity import HEADER, PEOPLE, PROJECT_A, PROJECT_B
from tests.support.migrations import tables_of
from tests.support.shareservice import Shares

STRANGER: dict[str, Any] = {"who": "member_b", "project": PROJECT_B}
ADMIN: dict[str, Any] = {"who": "admin_a"}


class Things(ABC):
    """A service, and one of each thing that a project can have; they are all of project A."""

    package: ClassVar[str]
    """The service's name below `pumice`."""
    dialect: ClassVar[Dialect]

    def __init__(self, running: Block | Shares) -> None:
        self.running = running
        self._ids: dict[str, str] = {}
        self._numbers = itertools.count(1)

    @abstractmethod
    def ids(self) -> Mapping[str, str]:
        """As `sweeps.fill` takes them; what is gone is made again, and what was changed rests again."""

    @abstractmethod
    def bodies(self) -> dict[str, Any]:
        """Bodies that are taken, of routes for which the smallest ones that their shapes tell are not."""

    def number(self) -> int:
        """Another one each time, for names that only one thing can have."""
        return next(self._numbers)

    def call(
        self,
        method: str,
        path: str,
        *,
        version: str = "",
        who: str = "member_a",
        project: str | None = PROJECT_A,
        body: Any = None,
        key: str = "",
    ) -> Result:
        """:param version: by default the newest
        :param key: an Idempotency-Key
        """
        url, _, query = path.partition("?")
        word = f"{self.dialect.service} " if self.dialect.header_names_service else ""
        headers = {HEADER: who, self.dialect.header: f"{word}{version or self.dialect.maximum}"}
        if key:
            headers["Idempotency-Key"] = key
        given = {} if body is None else {"json": body}
        where = f"{self.dialect.base}/{project}{url}" if project else f"{self.dialect.base}{url}"
        return self.running.client.simulate_request(method, where, query_string=query, headers=headers, **given)

    def made(self, path: str, body: Any, *, who: str = "member_a", status: str = "available") -> str:
        """The id of a new thing that has come to rest; its operation is the one that `ids` know."""
        answer = self.call("POST", path, who=who, body=body)
        assert answer.status_code < 300, answer.text
        thing = next(iter(answer.json.values()))
        id: str = thing["id"]
        if operation := answer.headers.get("X-Operation-Id"):
            self._ids["operations"] = operation
            assert self.running.rest(f"{path}/{id}") == status
        return id

    def keep(self, kind: str, make: Callable[[], str], reset: Any = None) -> None:
        """Make the thing of a kind where there is none, and have it rest (by an action) where it is changed."""
        found = self._ids.get(kind)
        answer = self.call("GET", f"/{kind}/{found}", who="admin_a") if found else None
        if answer is None or answer.status_code == 404:
            self._ids[kind] = make()
        elif reset:
            self.call("POST", f"/{kind}/{found}/action", who="admin_a", body=reset)

    def rows(self) -> dict[str, list[Any]]:
        """All that the database has of project A."""
        owned = {table.name: table for table in tables_of(self.package) if "project_id" in table.c}
        with self.running.service.db.read() as tx:
            return {
                name: sorted(map(repr, tx.execute(select(table).where(table.c.project_id == PROJECT_A))))
                for name, table in owned.items()
            }


class Swept:
    """The tests. Where a row's smallest body is refused for what it means, `Things.bodies` has a better one."""

    api: ClassVar[Api]
    for_strangers: ClassVar[frozenset[str]] = frozenset()
    """Rows that are asked with the ids of others' objects by those who are meant to."""
    adding: ClassVar[frozenset[str]] = frozenset()
    """Actions that add something."""
    adds_nothing: ClassVar[frozenset[str]] = frozenset()
    """Rows that POST without an action, but add nothing, or do it once whatever happens."""

    def asked(self, things: Things, route: Route, ids: Mapping[str, str], **asking: Any) -> Result:
        """The answer to a request of a row, at its newest version and with a body that would be taken."""
        version = Version.parse(route.until) if route.until else self.api.dialect.maximum
        body = sweeps.body_of(route, version, things.bodies())
        return things.call(route.method, sweeps.fill(route.path, ids), version=str(version), body=body, **asking)

    def version(self, end: str) -> Version:
        found: Version = getattr(self.api.dialect, end)
        return found

    def test_every_route_at_every_boundary(self, things: Things) -> None:
        assert sweeps.every_route_at_every_boundary(things.call, self.api.table, self.api.dialect, **ADMIN) == []

    def test_every_route_at_its_own_boundaries_as_a_reader(self, things: Things) -> None:
        table, reader = self.api.table, {"who": "reader_a"}
        assert sweeps.every_route_at_every_boundary(things.call, table, self.api.dialect, near=True, **reader) == []

    def test_without_a_project_in_the_path_routes_exist_from_their_version_on(self, things: Things) -> None:
        first = Version.parse(self.api.dialect.project_optional_from)
        last = Version(first.major, first.minor - 1)
        for route in self.api.table:
            path = sweeps.fill(route.path)
            before = things.call(route.method, path, version=str(last), project=None, who="reader_a", body={})
            after = things.call(route.method, path, version=str(first), project=None, who="reader_a", body={})
            assert before.status_code == 404, route
            assert "does not exist at version" in before.text
            same = [one for one in self.api.table if (one.method, one.path) == (route.method, route.path)]
            exists = any(sweeps.exists(one, first) for one in same)
            assert ("does not exist at version" in after.text) is not exists, route

    @pytest.mark.parametrize("end", ["minimum", "maximum"])
    def test_every_key_as_null_and_of_the_wrong_kind(self, things: Things, end: str) -> None:
        things.ids()
        given, version = things.bodies(), self.version(end)
        told = [route for route in self.api.table if sweeps.name_of(route) in given]
        assert sweeps.every_optional_key_as_null(things.call, told, version, things.ids, bodies=given, **ADMIN) == []
        assert sweeps.every_optional_key_as_null(things.call, self.api.table, version, things.ids, **ADMIN) == []

    @pytest.mark.parametrize("end", ["minimum", "maximum"])
    def test_a_stranger_sees_and_changes_nothing(self, things: Things, end: str) -> None:
        ids, before = things.ids(), things.rows()
        given, version = things.bodies(), self.version(end)
        table = [route for route in self.api.table if sweeps.name_of(route) not in self.for_strangers]
        assert sweeps.every_route_as_a_stranger(things.call, table, version, ids, bodies=given, **STRANGER) == []
        assert things.rows() == before

    def test_what_adds_something_can_be_repeated(self) -> None:
        """Metadata and extra specs have names of their own."""
        posts = [route for route in self.api.table if route.method == "POST"]
        assert {route.action for route in posts if route.action and route.creates} == self.adding
        named = re.compile(r"/metadata|/extra_specs")
        plain = [route for route in posts if not (route.action or named.search(route.path))]
        assert {sweeps.name_of(route) for route in plain if not route.creates} == self.adds_nothing

    def test_what_is_asked_for_twice_with_a_key_is_made_once(self, things: Things) -> None:
        for route in (one for one in self.api.table if one.creates):
            ids, key = things.ids(), f"sweep {things.number()}"
            version = Version.parse(route.until) if route.until else self.api.dialect.maximum
            asked = {"version": str(version), "body": sweeps.body_of(route, version, things.bodies())}
            first, again = (
                things.call("POST", sweeps.fill(route.path, ids), key=key, who="admin_a", **asked) for _ in range(2)
            )
            assert first.status_code == again.status_code == route.success, (route, first.text, again.text)
            made, told = (next(iter(answer.json.values()))["id"] for answer in (first, again))
            assert made == told, route
            assert again.headers["Idempotency-Replayed"] == "true"

    def test_a_stranger_is_refused_the_project_in_the_path(self, things: Things) -> None:
        ids, before = things.ids(), things.rows()
        for route in self.api.table:
            answer = self.asked(things, route, ids, who="member_b")
            assert answer.status_code == 400, (route, answer.text)
        assert things.rows() == before

    def test_a_reader_writes_nothing(self, things: Things) -> None:
        ids, before = things.ids(), things.rows()
        readers = {route.policy for route in self.api.table if route.check == READER}
        for route in self.api.table:
            names = (route.policy,) if isinstance(route.policy, str) else route.policy
            if route.method != "GET" and not all(name in readers for name in names):
                answer = self.asked(things, route, ids, who="reader_a")
                assert answer.status_code in {400, 403}, (route, answer.text)
        assert things.rows() == before

    def test_who_has_no_role_may_nothing(self, things: Things) -> None:
        """Routes without a rule are for everybody who has a token at all."""
        ids, before = things.ids(), things.rows()
        for route in self.api.table:
            answer = self.asked(things, route, ids, who="no_roles_a")
            if route.policy:
                assert answer.status_code in {400, 403}, (route, answer.text)
            else:
                assert route.method == "GET", route
        assert things.rows() == before

    def test_without_a_token_nothing_answers(self, things: Things) -> None:
        for route in self.api.table:
            assert things.call(route.method, sweeps.fill(route.path), who="nobody").status_code == 401

    @pytest.mark.parametrize("who", ["system_admin", "unscoped"])
    def test_a_token_without_a_project(self, things: Things, who: str) -> None:
        """It is answered like any other, and never with a fault; with a project in the path it is refused."""
        ids, before = things.ids(), things.rows()
        for route in self.api.table:
            if route.method != "GET" and who == "system_admin" and "{" in route.path:
                continue  # an administrator may change what is A's
            assert self.asked(things, route, ids, who=who).status_code == 400, route
            answer = self.asked(things, route, ids, who=who, project=None)
            assert answer.status_code < 500, (route, answer.text)
            if who == "unscoped":
                told = [one for one in ids.values() if answer.status_code < 300 and one in answer.text]
                assert not told, (route, answer.text)
        assert things.rows() == before


def test_the_people_of_the_sweeps_are_who_they_are_meant_to_be() -> None:
    assert PEOPLE["member_b"].project_id == PROJECT_B
    assert PEOPLE["unscoped"].project_id is None
    assert PEOPLE["no_roles_a"].roles == frozenset()
