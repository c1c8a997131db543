"""The Shared File Systems API as one table (microversions 2.0 to 2.99)."""

from __future__ import annotations

from pumice.kernel.api.table import Api
from pumice.kernel.api.versions import Dialect, Version
from pumice.kernel.operations import api as operations
from pumice.share import messages, replicas
from pumice.share.access import listing as rule_listing
from pumice.share.access import routes as access
from pumice.share.admin import routes as admin
from pumice.share.instances import handlers as instance_handlers
from pumice.share.instances import routes as instances
from pumice.share.locks import handlers as lock_handlers
from pumice.share.locks import routes as locks
from pumice.share.policy import HELPER_OF, HELPERS
from pumice.share.quotas import routes as quotas
from pumice.share.shares import manage, queries
from pumice.share.shares import routes as shares
from pumice.share.snapshots import queries as snapshot_queries
from pumice.share.snapshots import routes as snapshots
from pumice.share.transfers import handlers as transfer_handlers
from pumice.share.transfers import routes as transfers
from pumice.share.types import handlers as type_handlers
from pumice.share.types import routes as types

DIALECT = Dialect(
    service="share",
    title="Shared File Systems API",
    minimum=Version(2, 0),
    maximum=Version(2, 99),
    base="/v2",
    header="X-OpenStack-Manila-API-Version",
    header_names_service=False,
    experimental_header="X-OpenStack-Manila-API-Experimental",
    accepts_latest=False,
    project_optional_from="2.60",
    base_is_open=False,
    authorizes_first=True,
    actions_go_missing=True,
    links_always_name_project=False,
    like_filters_from="2.36",
    all_tenants_by_any_word=True,
    updated="2015-08-27T11:33:21Z",
    documentation="http://docs.openstack.org/",
    media_type="application/vnd.openstack.share+json;version=1",
)

API = Api(
    dialect=DIALECT,
    resources=(
        shares,
        manage,
        instances,
        replicas,
        access,
        snapshots,
        types,
        quotas,
        locks,
        transfers,
        messages,
        admin,
        operations,
    ),
    helpers=HELPERS,
    helper_of=HELPER_OF,
    listings=(
        queries.SHARES,
        instance_handlers.INSTANCES,
        snapshot_queries.SNAPSHOTS,
        snapshot_queries.INSTANCES,
        rule_listing.RULES,
        lock_handlers.LOCKS,
        transfer_handlers.TRANSFERS,
        type_handlers.TYPES,
        messages.MESSAGES,
        operations.OPERATIONS,
    ),
)
