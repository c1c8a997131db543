"""Where stestr finds the tests: all that Tempest finds, their common set-up and clean-up kept to what is under test.

Some share tests (of quotas and of availability zones) make a type of share groups that only others of their class need.
And the clean-up asks for the replicas of each share before it deletes it, now and then as a user who does not see the
share: that one it takes for gone, and leaves it.
"""

from __future__ import annotations

from typing import Any

from manila_tempest_tests.tests.api.base import BaseSharesAdminTest, BaseSharesTest
from tempest import config
from tempest.test_discover.test_discover import load_tests

__all__ = ["load_tests"]


def no_replicas(_cls: type, _share_id: str, client: Any = None) -> None:
    pass


def no_group_type(_cls: type) -> dict[str, str]:
    return {"id": ""}


if not config.CONF.share.run_replication_tests:
    BaseSharesTest.clear_share_replicas = classmethod(no_replicas)
if not config.CONF.share.run_share_group_tests:
    BaseSharesAdminTest._create_share_group_type = classmethod(no_group_type)  # noqa: SLF001
