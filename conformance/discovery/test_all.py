"""Where stestr finds the tests: all that Tempest finds, their common set-up and clean-up kept to what is under test.

The share tests ask for two things whether they need them or not: for the replicas of each share that is to be deleted
(where replicas are unknown the share is taken for gone, and left), and for a type of share groups beside quotas.
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
