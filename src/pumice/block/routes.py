"""The Block Storage API as one table (microversions 3.0 to 3.71)."""

from __future__ import annotations

from pumice.block import messages
from pumice.block.admin import pools
from pumice.block.admin import routes as admin
from pumice.block.attachments import routes as attachments
from pumice.block.policy import HELPER_OF, HELPERS
from pumice.block.quotas import routes as quotas
from pumice.block.snapshots import handlers as snapshot_handlers
from pumice.block.snapshots import routes as snapshots
from pumice.block.types import handlers as type_handlers
from pumice.block.types import routes as types
from pumice.block.volumes import queries as volume_queries
from pumice.block.volumes import routes as volumes
from pumice.kernel.api.table import Api
from pumice.kernel.api.versions import Dialect, Version
from pumice.kernel.operations import api as operations

DIALECT = Dialect(
    service="volume",
    title="Block Storage API",
    minimum=Version(3, 0),
    maximum=Version(3, 71),
    base="/v3",
    project_optional_from="3.67",
    unknown_filters_refused_from="3.31",
    like_filters_from="3.34",
    updated="2023-08-31T00:00:00Z",
    media_type="application/vnd.openstack.volume+json;version=3",
)

API = Api(
    dialect=DIALECT,
    resources=(volumes, snapshots, attachments, types, quotas, admin, messages, operations),
    helpers=HELPERS,
    helper_of=HELPER_OF,
    listings=(
        volume_queries.VOLUMES,
        snapshot_handlers.SNAPSHOTS,
        attachments.LISTING,
        type_handlers.TYPES,
        messages.MESSAGES,
        operations.OPERATIONS,
    ),
    other_filters={"pool": pools.CONFIGURED},
)
