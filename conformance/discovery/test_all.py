"""Where stestr finds the tests: all that Tempest finds, their common set-up kept to what is under test.

Some share tests (of quotas and of availability zones) make a type of share groups that only others of their class need.
"""

from __future__ import annotations

from manila_tempest_tests.tests.api.base import BaseSharesAdminTest
from tempest import config
from tempest.test_discover.test_discover import load_tests

__all__ = ["load_tests"]


def no_group_type(_cls: type) -> dict[str, str]:
    return {"id": ""}


if not config.CONF.share.run_share_group_tests:
    BaseSharesAdminTest._create_share_group_type = classmethod(no_group_type)  # noqa: SLF001
