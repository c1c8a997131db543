"""The names by which clients and operators' tools know the workers."""

API = "cinder-api"
SCHEDULER = "cinder-scheduler"
VOLUME = "cinder-volume"
BACKUP = "cinder-backup"
