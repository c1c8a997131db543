"""What there is to know beforehand: extensions, availability zones, the filters of lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pumice.block.admin import binaries
from pumice.kernel import services
from pumice.kernel.api.views import View
from pumice.kernel.errors import NotFound

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request


@dataclass(frozen=True, slots=True)
class Extension:
    """A part of the API by the name that it had before microversions."""

    alias: str
    name: str
    updated: str
    description: str
    links: tuple[str, ...] = ()


class ExtensionDetail(View):
    alias: str
    name: str
    updated: str
    description: str
    links: list[str]


# Those whose routes and keys are served; a part that comes adds its line.
EXTENSIONS = (
    Extension("OS-SCH-HNT", "SchedulerHints", "2013-04-18T00:00:00+00:00", "Hints to the scheduler."),
    Extension("capabilities", "Capabilities", "2015-08-31T00:00:00+00:00", "What backends can do."),
    Extension("os-admin-actions", "AdminActions", "2012-08-25T00:00:00+00:00", "Actions for administrators."),
    Extension("os-availability-zone", "AvailabilityZones", "2013-06-27T00:00:00+00:00", "Availability zones."),
    Extension("os-extended-services", "ExtendedServices", "2014-01-10T00:00:00-00:00", "Reasons of disabled services."),
    Extension(
        "os-extended-snapshot-attributes",
        "ExtendedSnapshotAttributes",
        "2012-06-19T00:00:00+00:00",
        "Progress and project of snapshots.",
    ),
    Extension("os-hosts", "Hosts", "2011-06-29T00:00:00+00:00", "Hosts and what they hold."),
    Extension("os-quota-class-sets", "QuotaClasses", "2012-03-12T00:00:00+00:00", "Quotas of classes."),
    Extension("os-quota-sets", "Quotas", "2011-08-08T00:00:00+00:00", "Quotas of projects."),
    Extension("os-services", "Services", "2012-10-28T00:00:00-00:00", "Workers and their states."),
    Extension("os-snapshot-actions", "SnapshotActions", "2013-07-16T00:00:00+00:00", "Actions on snapshots."),
    Extension("os-types-extra-specs", "TypesExtraSpecs", "2011-08-24T00:00:00+00:00", "Extra specs of volume types."),
    Extension("os-types-manage", "TypesManage", "2011-08-24T00:00:00+00:00", "Management of volume types."),
    Extension("os-used-limits", "UsedLimits", "2013-10-03T00:00:00+00:00", "What is used of the limits."),
    Extension("os-vol-host-attr", "VolumeHostAttribute", "2011-11-03T00:00:00+00:00", "The host of a volume."),
    Extension("os-vol-image-meta", "VolumeImageMetadata", "2012-12-07T00:00:00+00:00", "Image metadata of volumes."),
    Extension(
        "os-vol-mig-status-attr", "VolumeMigStatusAttribute", "2013-08-08T00:00:00+00:00", "How a migration stands."
    ),
    Extension("os-vol-tenant-attr", "VolumeTenantAttribute", "2011-11-03T00:00:00+00:00", "The project of a volume."),
    Extension("os-volume-actions", "VolumeActions", "2012-05-31T00:00:00+00:00", "Actions on volumes."),
    Extension("os-volume-type-access", "VolumeTypeAccess", "2014-06-26T00:00:00Z", "Who may use a private type."),
    Extension("scheduler-stats", "Scheduler_stats", "2014-09-07T00:00:00+00:00", "The scheduler's view of pools."),
)


def extensions(req: Request) -> dict[str, Any]:
    return {"extensions": req.views(ExtensionDetail, EXTENSIONS)}


def extension(req: Request, alias: str) -> dict[str, Any]:
    for one in EXTENSIONS:
        if one.alias == alias:
            return {"extension": req.view(ExtensionDetail, one)}
    raise NotFound(f"Extension {alias} could not be found.")


def zones(req: Request) -> dict[str, Any]:
    with req.service.db.read() as tx:
        found = services.zones(tx, binary=binaries.VOLUME)
    return {"availabilityZoneInfo": [{"zoneName": name, "zoneState": {"available": ok}} for name, ok in found.items()]}


def resource_filters(req: Request) -> dict[str, Any]:
    wanted = req.query.get("resource")
    return {
        "resource_filters": [
            {"resource": resource, "filters": list(filters)}
            for resource, filters in sorted(req.service.resource_filters.items())
            if wanted in {None, resource}
        ]
    }
