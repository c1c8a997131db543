"""What Pumice asks and tells the compute service (Nova)."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from keystoneauth1 import adapter, loading
from keystoneauth1 import exceptions as ks_errors
from oslo_config import cfg

LOG = logging.getLogger(__name__)

WITH_ATTACHMENT_IDS = "2.89"
"""The first compute microversion that names the attachment of a server's volume."""
TIMEOUT = 30.0
"""Seconds that compute may take for an answer, unless `[nova] timeout` says otherwise."""


class Compute:
    """:param conf: section [nova]; without its `auth_type` no compute service is there"""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._adapter = self._make() if conf.nova.auth_type else None

    def _make(self) -> adapter.Adapter:
        auth = loading.load_auth_from_conf_options(self._conf, "nova")
        timeout = self._conf.nova.timeout or TIMEOUT
        session = loading.load_session_from_conf_options(self._conf, "nova", auth=auth, timeout=timeout)
        return adapter.Adapter(
            session,
            service_type="compute",
            interface=self._conf.nova.interface,
            region_name=self._conf.nova.region_name,
            default_microversion=WITH_ATTACHMENT_IDS,
        )

    def uses(self, server_id: str, volume_id: str, attachment_id: str) -> bool:
        """Whether a server uses a volume through this very attachment.

        Without a compute service, or when it does not answer, the answer is yes: the caller wants to know
        whether it is safe to take the volume away (CVE-2023-2088).
        """
        if self._adapter is None:
            return True
        try:
            answer = self._adapter.get(f"/servers/{server_id}/os-volume_attachments/{volume_id}")
        except ks_errors.NotFound:
            return False
        except ks_errors.ClientException as error:
            LOG.warning("compute does not say whether server %s uses volume %s: %s", server_id, volume_id, error)
            return True
        return bool(answer.json()["volumeAttachment"]["attachment_id"] == attachment_id)

    def volume_extended(self, volume_id: str, server_ids: Iterable[str]) -> bool:
        """Tell the servers' hosts that a volume has (or, by them, is to get) a new size.

        :returns: whether compute has taken it
        """
        events = [{"name": "volume-extended", "server_uuid": server, "tag": volume_id} for server in server_ids]
        if self._adapter is None or not events:
            return False
        try:
            self._adapter.post("/os-server-external-events", json={"events": events})
        except ks_errors.ClientException as error:
            # The volume has its size whether or not compute heard of it; its hosts see it at the next rescan.
            LOG.warning("compute was not told that volume %s was extended: %s", volume_id, error)
            return False
        return True

    def host_of(self, server_id: str) -> str | None:
        """The host that a server runs on, for filters; None when compute does not know or say."""
        if self._adapter is None:
            return None
        try:
            answer = self._adapter.get(f"/servers/{server_id}")
        except ks_errors.ClientException:
            return None
        host: str | None = answer.json()["server"].get("OS-EXT-SRV-ATTR:host")
        return host
