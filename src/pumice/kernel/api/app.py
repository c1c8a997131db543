"""The WSGI application of a route table.

A request goes: route, version, body decoded and validated, row loaded, policy, handler. Some dialects ask the policy
before the row too. The authentication middleware in front has put a `RequestContext` into `environ["pumice.context"]`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import falcon
import msgspec

from pumice.kernel.api import bodies, faults, links, openapi
from pumice.kernel.api.idempotency import key_of
from pumice.kernel.api.request import Query, Reply, Request
from pumice.kernel.api.routes import Route, Rule
from pumice.kernel.api.shapes import decode
from pumice.kernel.api.versions import Dialect, Version
from pumice.kernel.auth.context import CONTEXT, RequestContext, new_request_id
from pumice.kernel.errors import BadRequest, MethodNotAllowed, NotFound, Unauthorized

if TYPE_CHECKING:
    from pumice.kernel.service import Service

_ROUTE = "pumice.route"
_STARTED = "pumice.started"
_VARIABLE = re.compile(r"\{(\w+)\}")

App = falcon.App[falcon.Request, falcon.Response]


def build_app(service: Service, table: Sequence[Route], rules: Sequence[Rule], dialect: Dialect) -> App:
    """The application that serves the table, the versions document, the OpenAPI document and the health check.

    Raises ValueError where two rows of the table answer the same request, or one begins after the dialect's end.
    """
    _check_versions(table, dialect)
    site = _Site(
        service,
        dialect,
        re.compile(service.conf.project_id_regex),
        service.conf.public_endpoint,
        service.conf.oslo_middleware.max_request_body_size,
    )
    app = App(middleware=[_Envelope(site)])
    faults.install(app, dialect)
    paths: dict[str, list[tuple[Route, tuple[str, ...]]]] = {}
    for route in table:
        for path in (route.path, *route.aliases):
            names = tuple(_VARIABLE.findall(path))
            paths.setdefault(_VARIABLE.sub("{}", path), []).append((route, names))
    for path, rows in paths.items():
        for start, in_project in ((f"{dialect.base}/{{}}", True), (dialect.base, False)):
            app.add_route(_numbered(start + path), _Endpoint(site, rows, in_project=in_project))
    document = openapi.document(table, rules, dialect)
    versions = _Versions(site)
    app.add_route("/", versions)
    app.add_route(dialect.base, versions)
    app.add_route(f"{dialect.base}/", versions)
    for path in ("/openapi.json", f"{dialect.base}/openapi.json"):
        app.add_route(path, _Fixed(msgspec.json.encode(document)))
    return app


def _numbered(path: str) -> str:
    """The path with its variables named by their number: the router wants one name at one place."""
    parts = path.split("{}")
    return parts[0] + "".join(f"{{v{n}}}{part}" for n, part in enumerate(parts[1:]))


@dataclass(frozen=True, slots=True)
class _Site:
    """What all parts of one application share; options are read once, as looking one up takes its time."""

    service: Service
    dialect: Dialect
    project_id: re.Pattern[str]
    public_endpoint: str | None
    largest_body: int

    def place(self, raw: falcon.Request) -> links.Place:
        return links.place(raw, self.public_endpoint)


class _Endpoint:
    """The rows of one path. It answers every method itself, so that the table alone says which exist."""

    def __init__(self, site: _Site, rows: Sequence[tuple[Route, tuple[str, ...]]], *, in_project: bool) -> None:
        self._site = site
        self._in_project = in_project
        self._rows: dict[str, list[tuple[Route, tuple[str, ...]]]] = {}
        for row in rows:
            self._rows.setdefault(row[0].method, []).append(row)
        for method, same in self._rows.items():
            _check_distinct(method, [route for route, _ in same])

    def respond(self, raw: falcon.Request, resp: falcon.Response, **variables: str) -> None:
        values = [variables[f"v{n}"] for n in range(len(variables))]
        if "\0" in raw.path or not all(values) or (self._in_project and not self._site.project_id.fullmatch(values[0])):
            raise NotFound(f"{raw.method} {raw.path} does not exist")
        if raw.method not in self._rows:
            refusal = NotFound if self._site.dialect.wrong_method_status == 404 else MethodNotAllowed
            raise refusal(f"{raw.path} does not take {raw.method}")
        context: RequestContext | None = raw.env.get(CONTEXT)
        if context is None:
            raise Unauthorized("The request you have made requires authentication.")
        version, rows = self._at_version(raw, resp)
        if self._in_project and values[0] != context.project_id:
            raise BadRequest(f"the project {values[0]} in the path is not the one of the token")
        text = bodies.read(raw, self._site.largest_body)
        body, (route, names) = self._body(raw.method, text, version, rows)
        raw.env[_ROUTE] = f"{route.path} {route.action}".rstrip()
        req = Request(
            service=self._site.service,
            dialect=self._site.dialect,
            context=context,
            version=version,
            raw=raw,
            query=Query(raw.query_string),
            place=self._site.place(raw),
            body=body,
            project_in_path=self._in_project,
        )
        variables_of_row = dict(zip(names, values[self._in_project :], strict=True))
        if route.creates:
            req.key = key_of(req, text)
        answer = self._answer(req, route, variables_of_row)
        resp.set_headers(req.reply_headers)
        _fill(resp, answer, route.success)

    def _at_version(self, raw: falcon.Request, resp: falcon.Response) -> tuple[Version, list[tuple[Route, Any]]]:
        """The version agreed on, and the rows of the method that exist at it."""
        dialect = self._site.dialect
        version = dialect.negotiate(raw.get_header(dialect.header))
        wanted = raw.get_header(dialect.experimental_header) if dialect.experimental_header else None
        experimental = (wanted or "").lower() == "true"
        resp.set_headers(dialect.answer_headers(version, experimental))
        known = self._in_project or version >= dialect.project_optional_from
        rows = [
            row
            for row in self._rows[raw.method]
            if known
            and version.within(row[0].since, row[0].until)
            and (experimental or not row[0].experimental_until or version > row[0].experimental_until)
        ]
        if not rows:
            raise NotFound(f"{raw.method} {raw.path} does not exist at version {version}")
        return version, rows

    def _body(
        self, method: str, text: bytes, version: Version, rows: list[tuple[Route, Any]]
    ) -> tuple[Any, tuple[Route, tuple[str, ...]]]:
        """The decoded body, and the row that is meant: of actions, the one whose key the body holds."""
        if not rows[0][0].action:
            route = rows[0][0]
            return (decode(route.body, version, text) if route.body else None), rows[0]
        elsewhere = {route.action for route, _ in self._rows[method]} if self._site.dialect.actions_go_missing else ()
        key, value = bodies.action(text, {route.action for route, _ in rows}, elsewhere)
        row = next(row for row in rows if row[0].action == key)
        shape = row[0].body
        return (decode(shape, version, value, key) if shape else None), row

    def _answer(self, req: Request, route: Route, variables: dict[str, str]) -> Any:
        rules = [rule for rule in ((route.policy,) if isinstance(route.policy, str) else route.policy) if rule]
        own = {"project_id": req.context.project_id, "user_id": req.context.user_id}
        # With a key too: who repeats a request must be allowed it still, and what it was about may be gone.
        if req.key or not route.load or req.dialect.authorizes_first:
            _authorize(req, rules, own)
        if req.key is None:
            return self._call(req, route, rules, own, variables)
        return req.key.once(req, lambda: self._call(req, route, rules, own, variables))

    def _call(
        self, req: Request, route: Route, rules: Sequence[str], own: Mapping[str, Any], variables: dict[str, str]
    ) -> Any:
        arguments: list[Any] = [req]
        if route.load:
            row_id = variables.pop(next(iter(variables)))
            with self._site.service.db.read() as tx:
                row = req.get(tx, route.load, row_id)
            arguments.append(row)
            _authorize(req, rules, {name: getattr(row, name, value) for name, value in own.items()})
        return route.handler(*arguments, **variables)


def _authorize(req: Request, rules: Sequence[str], target: Mapping[str, Any]) -> None:
    for rule in rules:
        req.authorize(rule, target)


class _Versions:
    """The versions document, at the root (300) and at the base path (200)."""

    def __init__(self, site: _Site) -> None:
        self._site = site

    def respond(self, raw: falcon.Request, resp: falcon.Response) -> None:
        dialect = self._site.dialect
        at_root = raw.path == "/"
        if not dialect.base_is_open:
            unversioned = dialect.answer_headers(dialect.minimum, experimental=False)
            if at_root:
                for name in unversioned:
                    resp.delete_header(name)
            else:
                version = dialect.negotiate(raw.get_header(dialect.header))
                resp.set_headers(dialect.answer_headers(version, experimental=False))
        endpoint = self._site.place(raw).endpoint
        _fill(resp, dialect.document(endpoint), 300 if at_root else 200)


class _Fixed:
    """A document that is the same for everybody."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    def on_get(self, _raw: falcon.Request, resp: falcon.Response) -> None:
        _fill(resp, self._text, 200)

    on_head = on_get


class _Envelope:
    """What every answer carries, faults and refusals included; and the count of it."""

    def __init__(self, site: _Site) -> None:
        self._site = site

    def process_request(self, raw: falcon.Request, resp: falcon.Response) -> None:
        context: RequestContext | None = raw.env.get(CONTEXT)
        request_id = context.request_id if context else new_request_id()
        raw.env[faults.REQUEST_ID] = request_id
        raw.env[_STARTED] = time.perf_counter()
        resp.set_headers({"x-openstack-request-id": request_id, "x-compute-request-id": request_id})
        dialect = self._site.dialect
        # Until the endpoint has agreed on another version.
        resp.set_headers(dialect.answer_headers(dialect.minimum, experimental=False))

    def process_response(self, raw: falcon.Request, resp: falcon.Response, _resource: object, _succeeded: bool) -> None:
        seconds = time.perf_counter() - raw.env[_STARTED]
        # Methods that nobody knows are without number, and strangers may send them.
        method = raw.method if raw.method in falcon.COMBINED_METHODS else ""
        self._site.service.metrics.request(method, raw.env.get(_ROUTE, ""), resp.status_code, seconds)


def _fill(resp: falcon.Response, answer: Any, success: int) -> None:
    reply = answer if isinstance(answer, Reply) else Reply(answer)
    resp.status = reply.status or success
    if reply.body is not None:
        resp.content_type = falcon.MEDIA_JSON
        resp.data = reply.body if isinstance(reply.body, bytes) else msgspec.json.encode(reply.body)
    resp.set_headers(reply.headers)


def _check_versions(table: Sequence[Route], dialect: Dialect) -> None:
    """Raise ValueError where a row exists at no version that the dialect speaks."""
    for route in table:
        if route.since and dialect.maximum < route.since:
            raise ValueError(
                f"{route.method} {route.path} {route.action}: it exists since {route.since}, but the newest version is "
                f"{dialect.maximum}: raise the maximum of the dialect"
            )


def _check_distinct(method: str, routes: Sequence[Route]) -> None:
    """Raise ValueError where two rows of one path and method answer the same request."""
    for number, one in enumerate(routes):
        for other in routes[:number]:
            apart = (one.until and other.since and Version.parse(one.until) < other.since) or (
                other.until and one.since and Version.parse(other.until) < one.since
            )
            if not apart and (one.action == other.action or not (one.action and other.action)):
                raise ValueError(f"{method} {one.path} {one.action}: two rows exist at one version")


for _method in falcon.COMBINED_METHODS:
    for _resource in (_Endpoint, _Versions):
        setattr(_resource, f"on_{_method.lower()}", _resource.respond)
