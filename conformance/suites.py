"""What is different between the services: the tests, where the pools are shown, and what Tempest is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Options = Mapping[str, Mapping[str, object]]
Pools = Sequence[Mapping[str, Any]]

OTHERS = dict.fromkeys(("cinder", "glance", "horizon", "manila", "neutron", "nova", "swift"), False)


@dataclass(frozen=True, kw_only=True)
class Suite:
    """:param tests: regular expression of the ids of the tests
    :param left_out: the file that names those of them that are not run
    :param catalog_type: the service's type in the catalog
    :param pools: path of the pools with their capabilities
    :param backend: the capability that names a pool's backend
    :param options: Tempest's options for the service, given its type in the catalog, the region and the pools
    """

    tests: str
    left_out: str
    catalog_type: str
    pools: str
    backend: str
    options: Callable[[str, str, Pools], Options]

    def backends(self, pools: Pools) -> list[str]:
        return sorted({pool["capabilities"][self.backend] for pool in pools})

    def facts(self, pools: Pools) -> dict[str, bool]:
        """What tests are left out by: whether there are two backends, two pools in one, and each protocol."""
        backends = self.backends(pools)
        counts = {"two_backends": len(backends) > 1, "two_pools": len(pools) > len(backends)}
        return {**counts, **dict.fromkeys(protocols(pools), True)}


def protocols(pools: Pools) -> list[str]:
    """In lower case; the first is that of tests that need any."""
    return str(pools[0]["capabilities"]["storage_protocol"]).lower().split("_")


def _block(service: str, region: str, pools: Pools) -> Options:
    backends, capabilities = BLOCK.backends(pools), pools[0]["capabilities"]
    return {
        # There is no Nova, Neutron, Swift or Glance. But Tempest has whole classes of volume tests fail or skipped
        # without Neutron and Glance that need neither: so both are declared, at the address of Keystone, which
        # knows nothing (404) of the one thing asked there, a deleted project's default security group.
        "service_available": {**OTHERS, "cinder": True, "glance": True, "neutron": True},
        "network": {"catalog_type": "identity", "region": region},
        "image": {"catalog_type": "identity", "region": region},
        "volume": {
            "catalog_type": service,
            "region": region,
            "min_microversion": "3.0",
            "max_microversion": "3.71",
            "backend_names": ",".join(backends),
            "storage_protocol": capabilities["storage_protocol"],
            "vendor_name": capabilities["vendor_name"],
            "volume_size": 1,
            "build_interval": 1,
            "build_timeout": 120,
        },
        "volume-feature-enabled": {
            "backup": False,
            "clone": True,
            "consistency_group": False,
            "extend_volume_with_snapshot": True,
            "manage_snapshot": False,
            "manage_volume": False,
            "multi_backend": len(backends) > 1,
            "snapshot": True,
            "volume_revert": True,
        },
        "enforce_scope": {"cinder": True},
    }


def _share(service: str, region: str, pools: Pools) -> Options:
    backends, known = SHARE.backends(pools), protocols(pools)

    def among(*wanted: str) -> str:
        return ",".join(name for name in wanted if name in known)

    done = ("extend", "manage_unmanage", "manage_unmanage_snapshot", "mount_snapshot", "quota", "revert_to_snapshot")
    later = ("driver_assisted_backup", "driver_assisted_migration", "host_assisted_migration", "replication")
    return {
        "service_available": {**OTHERS, "manila": True},
        "share": {
            "catalog_type": service,
            "region": region,
            "min_api_microversion": "2.0",
            "max_api_microversion": "2.99",
            "multitenancy_enabled": False,  # driver_handles_share_servers
            "create_networks_when_multitenancy_enabled": False,
            "default_share_type_name": "default",
            "multi_backend": len(backends) > 1,
            "backend_names": ",".join(backends),
            "capability_snapshot_inherit_share_access": "optional",
            "capability_storage_protocol": pools[0]["capabilities"]["storage_protocol"],
            "enable_protocols": ",".join(known),
            "enable_ip_rules_for_protocols": among("nfs", "cifs"),
            "enable_user_rules_for_protocols": among("cifs"),
            "enable_cert_rules_for_protocols": among("glusterfs"),
            "enable_cephx_rules_for_protocols": among("cephfs"),
            "enable_ro_access_level_for_protocols": among("nfs", "cifs", "glusterfs", "cephfs"),
            "share_creation_retry_number": 0,
            "build_interval": 1,
            "build_timeout": 120,
            **{f"run_{name}_tests": True for name in (*done, "shrink", "snapshot")},
            "run_create_share_from_snapshot_in_another_pool_or_az_tests": len(backends) > 1,
            **{f"run_{name}_tests": False for name in (*later, "share_group")},
        },
        "enforce_scope": {"manila": True},
    }


BLOCK = Suite(
    tests=r"^(tempest\.api\.volume|cinder_tempest_plugin\.(api|rbac))\.",
    left_out="left-out.yaml",
    catalog_type="block-storage",
    pools="/scheduler-stats/get_pools?detail=true",
    backend="volume_backend_name",
    options=_block,
)
SHARE = Suite(
    tests=r"^manila_tempest_tests\.tests\.api\.",
    left_out="left-out-share.yaml",
    catalog_type="shared-file-system",
    pools="/scheduler-stats/pools/detail",
    backend="share_backend_name",
    options=_share,
)
SUITES = {"block": BLOCK, "share": SHARE}
