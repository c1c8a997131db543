"""What random users of volumes ask for."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.support.served import Ask
from tests.support.users import Action, Listed, Repertoire, Thing, Things

CONNECTOR = {"host": "client", "ip": "127.0.0.1", "initiator": "iqn.2026-11.test:client"}


def _new(**values: Any) -> Ask:
    return Ask("POST", "/volumes", {"volume": values})


def _new_near(chance: Random, volume: Thing, _things: Things) -> Ask:
    """Hints are the scheduler's: what has none is placed as it is accepted."""
    hints = {chance.choice(("same_host", "different_host")): [volume["id"]]}
    return Ask("POST", "/volumes", {"volume": {"size": chance.randint(1, 3)}, "OS-SCH-HNT:scheduler_hints": hints})


def _action(volume: Thing, name: str, **values: Any) -> Ask:
    return Ask("POST", f"/volumes/{volume['id']}/action", {name: values})


def _revert(_chance: Random, snapshot: Thing, _things: Things) -> Ask:
    """Refused unless the snapshot is the newest of its volume."""
    return _action({"id": snapshot["volume_id"]}, "revert", snapshot_id=snapshot["id"])


VOLUMES = Repertoire(
    listed=[
        Listed("volumes", "/volumes/detail", "volumes"),
        Listed("snapshots", "/snapshots/detail", "snapshots"),
        Listed("attachments", "/attachments/detail", "attachments"),
    ],
    actions=[
        Action(lambda chance, *_: _new(size=chance.randint(1, 3)), weight=4),
        Action(_new_near, "volumes", weight=2),
        Action(lambda _, volume, __: Ask("DELETE", f"/volumes/{volume['id']}"), "volumes"),
        Action(lambda _, volume, __: Ask("DELETE", f"/volumes/{volume['id']}?cascade=true"), "volumes"),
        Action(lambda _, volume, __: _action(volume, "os-extend", new_size=volume["size"] + 1), "volumes"),
        Action(lambda _, volume, __: _new(source_volid=volume["id"]), "volumes"),
        Action(_revert, "snapshots"),
        Action(
            lambda _, volume, __: Ask("POST", "/snapshots", {"snapshot": {"volume_id": volume["id"]}}),
            "volumes",
            weight=2,
        ),
        Action(lambda _, snapshot, __: _new(snapshot_id=snapshot["id"]), "snapshots"),
        Action(lambda _, snapshot, __: Ask("DELETE", f"/snapshots/{snapshot['id']}"), "snapshots"),
        Action(
            lambda _, volume, __: Ask(
                "POST", "/attachments", {"attachment": {"volume_uuid": volume["id"], "connector": CONNECTOR}}
            ),
            "volumes",
        ),
        Action(lambda _, one, __: Ask("DELETE", f"/attachments/{one['id']}"), "attachments"),
    ],
    faults=("/attachments",),
)
