"""The way from a token to a context, against a real Keystone."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
import requests
from oslo_config import cfg

from pumice.kernel import config
from pumice.kernel.api.routes import Rule
from pumice.kernel.auth.context import CONTEXT, RequestContext
from pumice.kernel.auth.middleware import Authentication, TokenCache
from pumice.kernel.auth.policy import Policy, defaults_of
from tests.support.keystone import Cloud, keystone_authtoken
from tests.support.waiting import eventually

pytestmark = pytest.mark.real

OPEN_PATHS = ("/", "/v3/")
UUID = "0" * 8 + "-0000-4000-8000-" + "0" * 12


class Door:
    """A service behind the middleware that shows the context it was called with."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        policy = Policy(conf, defaults_of([], helpers=[Rule(name="context_is_admin", check="role:admin")]))
        self.app = Authentication(self.inside, conf, policy, OPEN_PATHS)
        self.context: RequestContext | None = None

    def inside(self, environ: Any, start_response: Any) -> list[bytes]:
        self.context = environ.get(CONTEXT)
        start_response("200 OK", [])
        return [b""]

    def get(self, path: str = "/v3/volumes", **headers: str) -> tuple[str, dict[str, str], bytes]:
        environ: dict[str, Any] = {
            "REQUEST_METHOD": "GET", "PATH_INFO": path, "SCRIPT_NAME": "", "QUERY_STRING": "",
            "SERVER_NAME": "localhost", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1", "wsgi.url_scheme": "http",
            **{f"HTTP_{name.upper()}": value for name, value in headers.items()},
        }  # fmt: skip
        self.context = None
        answer: list[Any] = []

        def start(status: str, headers: list[tuple[str, str]], _exc_info: Any = None) -> Any:
            answer.append((status, dict(headers)))

        body = b"".join(self.app(environ, start))
        return answer[0][0], {name.lower(): value for name, value in answer[0][1].items()}, body

    def status(self, **headers: str) -> str:
        return self.get(**headers)[0][:3]


def door(cloud: Cloud, **authtoken: Any) -> Door:
    section = {**keystone_authtoken(cloud), **authtoken}
    return Door(config.load("block", [], {"keystone_authtoken": section}))


@pytest.fixture(scope="module")
def plain(cloud: Cloud) -> Door:
    return door(cloud)


def test_a_token_becomes_a_context(cloud: Cloud, plain: Door) -> None:
    assert plain.status(x_auth_token=cloud.token("member_a")) == "200"
    context = plain.context
    assert context is not None
    assert context.user_id == cloud.login("member_a").user_id
    assert context.project_id == cloud.login("member_a").project_id
    assert context.roles == {"member", "reader"}
    assert (context.user_domain_id, context.project_domain_id) == ("default", "default")
    assert not context.is_admin
    assert context.request_id.startswith("req-")
    assert context.global_request_id is None
    assert context.service_roles == frozenset()


def test_the_rule_context_is_admin_decides_who_is_admin(cloud: Cloud, plain: Door) -> None:
    plain.get(x_auth_token=cloud.token("admin"))
    assert plain.context is not None
    assert plain.context.is_admin
    assert plain.context.roles >= {"admin", "manager", "member", "reader"}


def test_no_token_a_wrong_one_and_forged_headers_are_refused_with_a_json_body(cloud: Cloud, plain: Door) -> None:
    forged = {"x_identity_status": "Confirmed", "x_roles": "admin", "x_project_id": "p", "x_user_id": "u"}
    for headers in ({}, {"x_auth_token": "nonsense"}, forged):
        status, answer, body = plain.get(**headers)
        assert status == "401 Unauthorized"
        assert plain.context is None
        assert json.loads(body)["unauthorized"]["code"] == 401
        assert answer["www-authenticate"] == f'Keystone uri="{cloud.auth_url}"'
        assert answer["content-type"] == "application/json"
        assert answer["x-openstack-request-id"].startswith("req-")
        assert answer["x-compute-request-id"] == answer["x-openstack-request-id"]


def test_forged_roles_beside_a_good_token_do_not_count(cloud: Cloud, plain: Door) -> None:
    plain.get(
        x_auth_token=cloud.token("member_a"), x_roles="admin", x_service_roles="service",
        x_service_identity_status="Confirmed",
    )  # fmt: skip
    assert plain.context is not None
    assert plain.context.roles == {"member", "reader"}
    assert plain.context.service_roles == frozenset()


@pytest.mark.parametrize("path", OPEN_PATHS)
def test_open_paths_need_no_token(plain: Door, path: str) -> None:
    assert plain.get(path)[0] == "200 OK"
    assert plain.context is None


def test_a_valid_global_request_id_is_kept_and_another_ignored(cloud: Cloud, plain: Door) -> None:
    token = cloud.token("member_a")
    for sent, kept in ((f"req-{UUID}", f"req-{UUID}"), ("req-x", None), (f"{UUID}", None), (f"req-{UUID}\nx", None)):
        plain.get(x_auth_token=token, x_openstack_request_id=sent)
        assert plain.context is not None
        assert plain.context.global_request_id == kept


def test_the_service_token_gives_service_roles(cloud: Cloud, plain: Door) -> None:
    plain.get(x_auth_token=cloud.token("member_a"), x_service_token=cloud.token("service"))
    assert plain.context is not None
    assert "service" in plain.context.service_roles
    assert plain.context.service_user_id == cloud.login("service").user_id
    assert plain.context.roles == {"member", "reader"}


def test_a_wrong_service_token_is_refused(cloud: Cloud, plain: Door) -> None:
    assert plain.status(x_auth_token=cloud.token("member_a"), x_service_token="nonsense") == "401"


def test_a_service_token_needs_one_of_the_configured_roles(cloud: Cloud) -> None:
    strict = door(cloud, service_token_roles=["service"], service_token_roles_required=True)
    member = cloud.token("member_a")
    assert strict.status(x_auth_token=member, x_service_token=cloud.token("service")) == "200"
    assert strict.status(x_auth_token=member, x_service_token=cloud.token("reader_a")) == "401"


def test_a_token_is_asked_about_once(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    here = door(cloud)
    asked: list[str] = []
    send = requests.Session.send

    def counted(self: requests.Session, request: requests.PreparedRequest, **more: Any) -> requests.Response:
        asked.append(str(request.url))
        return send(self, request, **more)

    monkeypatch.setattr(requests.Session, "send", counted)
    token = cloud.token("member_a")
    for _ in range(20):
        assert here.status(x_auth_token=token) == "200"
    assert len([url for url in asked if url.endswith("/auth/tokens") or "/auth/tokens?" in url]) == 2, asked


def test_a_revoked_token_is_refused_after_token_cache_time(cloud: Cloud) -> None:
    here = door(cloud, token_cache_time=1)
    token = cloud.fresh_token("reader_a")
    assert here.status(x_auth_token=token) == "200"
    cloud.login("reader_a").session().delete(
        f"{cloud.auth_url}/auth/tokens", headers={"X-Subject-Token": token}, authenticated=True
    )
    eventually(lambda: here.status(x_auth_token=token) != "200")


def test_a_cached_token_costs_little(cloud: Cloud, plain: Door) -> None:
    token = cloud.token("member_a")
    plain.get(x_auth_token=token)
    rounds = []
    for _ in range(5):
        start = time.thread_time()
        for _ in range(100):
            plain.get(x_auth_token=token)
        rounds.append((time.thread_time() - start) / 100)
    assert min(rounds) < 0.001


def test_keystone_away_is_503_and_not_401(cloud: Cloud) -> None:
    away = door(cloud, auth_url="http://127.0.0.1:9/v3", http_request_max_retries=0)
    status, answer, body = away.get(x_auth_token="unknown")
    assert status == "503 Service Unavailable"
    assert json.loads(body)["serviceUnavailable"]["code"] == 503
    assert answer["x-openstack-request-id"].startswith("req-")


@pytest.mark.parametrize("option", ["auth_url", "username", "password"])
def test_an_incomplete_section_stops_the_start(cloud: Cloud, option: str) -> None:
    with pytest.raises(config.ConfigError, match=rf"\[keystone_authtoken\] .*{option}"):
        door(cloud, **{option: None})


def test_the_cache_forgets_by_time_and_by_size() -> None:
    cache = TokenCache(size=2)
    cache.set("a", 1, time=60)
    cache.set("b", 2, time=0)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (1, None, None)
    cache.set("c", 3, time=60)
    cache.set("d", 4, time=60)
    assert (cache.get("a"), cache.get("c"), cache.get("d")) == (None, 3, 4)
