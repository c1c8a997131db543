"""The codes of messages to users about shares (section 20 of the API); the texts are ours."""

from __future__ import annotations

from pumice.kernel.messages import Code


class Action(Code):
    """What was being done."""

    PLACE = "001", "Choosing a backend for the share"
    CREATE = "002", "Creating the share on its backend"
    DELETE_ACCESS_RULES = "003", "Removing access rules"
    PROMOTE = "004", "Promoting the replica"
    UPDATE = "005", "Updating"
    REVERT = "006", "Setting the share back to the snapshot"
    DELETE = "007", "Deleting"
    EXTEND = "008", "Extending the share"
    SHRINK = "009", "Shrinking the share"
    UPDATE_ACCESS_RULES = "010", "Changing access rules"
    CHANGE_SECURITY_SERVICE = "011", "Adding or changing a security service"
    ACCEPT_TRANSFER = "026", "Accepting the transfer"
    UPDATE_METADATA = "027", "Updating metadata"
    RESTORE_BACKUP = "028", "Restoring the share backup"


NOTHING = "No storage could be allocated for this share request:"
"""Clients look for these words, whichever filter it was that left no pool."""


class Detail(Code):
    """Why it went wrong."""

    UNKNOWN = "001", "The cause is not known."
    NO_BACKEND = "002", f"{NOTHING} another size or share type may do."
    NETWORK_NOT_SUPPORTED = "003", "The backend takes no share network in its present setup."
    NO_SHARE_SERVER = "004", "No share server could be found or made on the share network."
    ACTIVE_REPLICA_NOT_AVAILABLE = "005", "A new replica needs an active replica that is available."
    NO_ACTIVE_REPLICA = "006", "There is no active replica."
    FILTER_ZONE = "007", f"{NOTHING} no backend is in an availability zone that will do."
    FILTER_CAPABILITIES = "008", f"{NOTHING} no backend has the capabilities that the share type asks for."
    FILTER_CAPACITY = "009", f"{NOTHING} no backend has room enough."
    FILTER_DRIVER = "010", f"{NOTHING} the backends' own rules refuse the request."
    FILTER_ATTEMPTED = "011", f"{NOTHING} every backend that will do was tried before."
    FILTER_JSON = "012", f"{NOTHING} no backend is what the query asks for."
    FILTER_RETRY = "013", f"{NOTHING} every backend that will do was tried before."
    FILTER_REPLICATION = "014", f"{NOTHING} no backend can hold the replica."
    DRIVER_EXTEND_FAILED = "015", "The backend failed to extend the share, which stays in status extending_error."
    FILTER_SNAPSHOT = "016", f"{NOTHING} no backend can make a share of the snapshot."
    DRIVER_FROM_SNAPSHOT_FAILED = "017", "The backend failed to create the share from the snapshot."
    SHRINK_WOULD_LOSE_DATA = "018", "The size is smaller than what is used in the share."
    DRIVER_CANNOT_SHRINK = "019", "The backend cannot shrink the share."
    CLIENT_REFUSED = "020", "Access is refused for this client."
    RULE_NOT_SUPPORTED = (
        "021",
        "The backend cannot enforce the type, the level, or the user or network that it names.",
    )
    SECURITY_SERVICE_FAILED = "022", "The security service could not be set up."
    SECURITY_SERVICE_CREDENTIALS = "023", "The security service refused the credentials."
    NO_DEFAULT_TYPE = "024", "No share type was given, and there is no default share type."
    NO_SECURITY_SERVICE = "025", "The share network lacks a security service."
    TRANSFER_NEEDS_RULES_CLEARED = "026", "The transfer needs the access rules to be cleared."
    NO_PORT = "027", "The network has no port left."
    SERVICE_DOWN = "028", "No backend service is up."
    METADATA_APPLIED = "029", "The backend applied the metadata."
    METADATA_REFUSED = "030", "The backend refused the metadata."
    METADATA_REMOVAL_NOT_PASSED = "031", "The backend was not told of the removal of metadata."
    NO_TARGETED_RESTORE = "032", "The backend cannot restore to another share."
    NO_ADDRESS = "033", "The subnet has no free address for a share server."
    REPLICA_NOT_SUPPORTED = "034", "The backend cannot make a replica with these options."
    DRIVER_REVERT_FAILED = "035", "The backend failed to set the share back to the snapshot."


REFUSED_BY = {
    "AvailabilityZoneFilter": Detail.FILTER_ZONE,
    "CapabilitiesFilter": Detail.FILTER_CAPABILITIES,
    "CapacityFilter": Detail.FILTER_CAPACITY,
    "DriverFilter": Detail.FILTER_DRIVER,
    "JsonFilter": Detail.FILTER_JSON,
}
"""What is said where the scheduler's filter of that name left no pool."""
