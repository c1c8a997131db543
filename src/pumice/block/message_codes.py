"""The codes of messages to users about volumes (section 12 of the API); the texts are ours."""

from __future__ import annotations

from pumice.kernel.messages import Code


class Action(Code):
    """What was being done."""

    SCHEDULE = "001", "Choosing a backend for the volume"
    ATTACH = "002", "Attaching the volume"
    COPY_TO_IMAGE = "003", "Copying the volume to an image"
    UPDATE_ATTACHMENT = "004", "Updating the attachment"
    COPY_FROM_IMAGE = "005", "Copying an image to the volume"
    UNMANAGE = "006", "Unmanaging the volume"
    EXTEND = "007", "Extending the volume"
    CREATE = "008", "Creating the volume on its backend"
    CREATE_SNAPSHOT = "009", "Creating the snapshot"
    DELETE_SNAPSHOT = "010", "Deleting the snapshot"
    UPDATE_SNAPSHOT = "011", "Updating the snapshot"
    UPDATE_SNAPSHOT_METADATA = "012", "Updating the snapshot's metadata"
    CREATE_BACKUP = "013", "Creating the backup"
    DELETE_BACKUP = "014", "Deleting the backup"
    RESTORE_BACKUP = "015", "Restoring the backup"
    REIMAGE = "016", "Writing a new image to the volume"


class Detail(Code):
    """Why it went wrong."""

    UNKNOWN = "001", "The cause is not known."
    DRIVER_NOT_STARTED = "002", "The driver of the backend has not started up."
    NO_BACKEND = "003", "No backend could take the request."
    IMAGE_UPLOAD_FAILED = "004", "The image service did not take the upload."
    WRONG_ATTACH_MODE = "005", "The attach mode does not fit the volume."
    OVER_QUOTA = "006", "A quota is exceeded."
    IMAGE_DOES_NOT_FIT = "007", "The image does not fit the volume."
    UNMANAGE_ENCRYPTED = "008", "An encrypted volume cannot be unmanaged."
    COMPUTE_EXTEND_FAILED = "009", "Compute failed to extend the volume."
    DRIVER_EXTEND_FAILED = "010", "The backend failed to extend the volume."
    IMAGE_SIGNATURE = "011", "The image's signature could not be verified."
    DRIVER_CREATE_FAILED = "012", "The backend failed to create the volume."
    DRIVER_SNAPSHOT_FAILED = "013", "The backend failed to create the snapshot."
    SNAPSHOT_METADATA_FAILED = "014", "The snapshot's metadata could not be updated."
    SNAPSHOT_IN_USE = "015", "The snapshot is in use."
    DRIVER_DELETE_SNAPSHOT_FAILED = "016", "The backend failed to delete the snapshot."
    BACKUP_STATE = "017", "The backup is in a state that does not allow this."
    BACKUP_SERVICE_DOWN = "018", "The backup service is not running."
    BACKUP_NO_DEVICE = "019", "No device to read the data from could be set up."
    BACKUP_CREATE_FAILED = "020", "The backup store failed to take the backup."
    BACKUP_ATTACH_FAILED = "021", "The volume could not be attached for the backup."
    BACKUP_DETACH_FAILED = "022", "The volume could not be detached after the backup."
    BACKUP_CLEANUP_FAILED = "023", "What the backup needed for a while could not be removed."
    BACKUP_NO_SERVICE = "024", "No backup service could be chosen."
    BACKUP_DELETE_FAILED = "025", "The backup store failed to delete the backup."
    BACKUP_RESTORE_FAILED = "026", "The backup store failed to restore the backup."
    VOLUME_STATE = "027", "The volume is in a state that does not allow this."
    COMPUTE_REIMAGE_FAILED = "028", "Compute failed to write the new image to the volume."
    IMAGE_FORMAT = "029", "The format of the image is not accepted."
    BACKUP_MADE_FULL = "030", "A full backup was made instead of an incremental one."
