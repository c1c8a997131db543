"""A real Keystone for tests, started once a run, with a user for each part that the rules know.

    def test_x(cloud): requests.get(url, headers={"X-Auth-Token": cloud.token("member_a")})

`keystone_authtoken(cloud)` is the section that lets a service check such tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from pumice.standalone.keystone import CatalogEntry, Keystone, Login
from tests.support.ports import free_port

# name -> (project, roles). Keystone adds implied roles: admin, manager, member and reader imply those after them.
PEOPLE = {
    "admin": ("admin", ["admin"]),
    "admin_a": ("project-a", ["admin"]),
    "manager_a": ("project-a", ["manager"]),
    "member_a": ("project-a", ["member"]),
    "member2_a": ("project-a", ["member"]),
    "reader_a": ("project-a", ["reader"]),
    "member_b": ("project-b", ["member"]),
    "reader_b": ("project-b", ["reader"]),
    "service": ("service", ["service", "admin"]),
}


class Cloud:
    """Keystone and its people. Logins and tokens are made when first asked for, then kept."""

    def __init__(self, keystone: Keystone) -> None:
        self.keystone = keystone
        self.auth_url = keystone.auth_url
        self.login = cache(self._login)
        self.token = cache(self._token)

    def _login(self, name: str) -> Login:
        if name == "admin":
            return self.keystone.admin
        project, roles = PEOPLE[name]
        return self.keystone.account(name, project, roles)

    def _token(self, name: str) -> str:
        return self.login(name).token()

    def fresh_token(self, name: str) -> str:
        """A token that the test may revoke."""
        return self.login(name).token()

    def project_id(self, name: str) -> str:
        return str(self.login(name).session().get_project_id())


def keystone_authtoken(cloud: Cloud) -> dict[str, Any]:
    return {"auth_type": "password", **cloud.login("service").auth(), "www_authenticate_uri": cloud.auth_url}


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with Keystone(tmp_path_factory.mktemp("keystone"), free_port()) as keystone:
        keystone.catalog([CatalogEntry("identity", "keystone", keystone.auth_url)])
        yield Cloud(keystone)
