"""The names by which clients and operators' tools know the workers."""

API = "manila-api"
SCHEDULER = "manila-scheduler"
SHARE = "manila-share"
