"""Answers about share instances and export locations (sections 7 and 8 of the API)."""

from __future__ import annotations

import datetime
from typing import Annotated

from pumice.kernel.api.fields import Since, Until
from pumice.kernel.api.shapes import Shape
from pumice.kernel.api.values import one_of
from pumice.kernel.api.views import Guarded, Of, View
from pumice.share.shares.moves import INSTANCE_STATUSES
from pumice.share.shares.shapes import shown_rules_status, shown_status, visible_locations


class ResetStatus(Shape):
    status: Annotated[str, one_of(*INSTANCE_STATUSES)]


class InstanceDetail(View):
    id: str
    share_id: str
    availability_zone: str | None
    created_at: datetime.datetime
    host: str | None
    status: Annotated[str, Of(lambda row, req: shown_status(row.status, req))]
    share_network_id: str | None
    share_server_id: str | None
    export_location: Annotated[
        str | None, Until("2.8"), Of(lambda row, req: next(iter(visible_locations(row, req)), None))
    ]
    export_locations: Annotated[list[str], Until("2.8"), Of(visible_locations)]
    access_rules_status: Annotated[
        str, Since("2.10"), Of(lambda row, req: shown_rules_status(row.access_rules_status, req))
    ]
    replica_state: Annotated[str | None, Since("2.11")]
    share_type_id: Annotated[str | None, Since("2.22")]
    cast_rules_to_readonly: Annotated[bool, Since("2.30")]
    progress: Annotated[str | None, Since("2.54")]
    updated_at: Annotated[datetime.datetime | None, Since("2.71")]


class LocationSummary(View):
    id: str
    path: str
    preferred: Annotated[bool, Since("2.14")]
    metadata: Annotated[
        dict[str, str],
        Since("2.87"),
        Of(lambda row, _req: {key: value for key, value in row.meta.items() if key != "preferred"}),
    ]
    is_admin_only: Annotated[bool, Guarded("context_is_admin")]
    share_instance_id: Annotated[str, Guarded("context_is_admin")]


class LocationDetail(LocationSummary):
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
