from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from pumice.standalone.keystone import Login
from tests.support.keystone import Cloud


def test_users_log_in_for_the_first_time_while_others_are_made(cloud: Cloud) -> None:
    keystone = cloud.keystone
    logins = [keystone.account(f"first-{n}", f"first-{n}", ["member"]) for n in range(12)]

    def make(n: int) -> Login:
        return keystone.account(f"made-{n}", f"made-{n}", ["reader"])

    with ThreadPoolExecutor(8) as pool:
        tokens = [pool.submit(login.token) for login in logins]
        made = [pool.submit(make, n) for n in range(6)]
        assert len({token.result() for token in tokens}) == 12
        assert all(one.result().token() for one in made)
