"""What random users of shares ask for, administrators among them."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.support.served import Ask
from tests.support.users import Action, Listed, Repertoire, Thing, Things

TARGETS = (
    *(("ip", f"10.0.0.{n}") for n in range(1, 9)),
    ("ip", "10.1.0.0/16"),
    ("ip", "fd00::1"),
    ("user", "games"),
    # Not enforced, or not even well formed:
    ("user", "stranger"),
    ("cert", "common.name"),
    ("ip", "10.0.0.300"),
)


def _new(**values: Any) -> Ask:
    return Ask("POST", "/shares", {"share": values})


def _new_near(chance: Random, share: Thing, _things: Things) -> Ask:
    """Hints are the scheduler's: what has none is placed as it is accepted."""
    hints = {chance.choice(("same_host", "different_host")): share["id"]}
    return _new(share_proto=share["share_proto"], size=1, scheduler_hints=hints)


def _action(thing: Thing, name: str, value: Any = None, *, who: str = "member_a", what: str = "shares") -> Ask:
    return Ask("POST", f"/{what}/{thing['id']}/action", {name: value}, who)


def _resize(name: str, by: int) -> Action:
    return Action(lambda _, share, __: _action(share, name, {"new_size": max(share["size"] + by, 1)}), "shares")


def _allow(chance: Random) -> dict[str, str]:
    access_type, access_to = chance.choice(TARGETS)
    return {"access_type": access_type, "access_to": access_to}


def _revert(_chance: Random, snapshot: Thing, _things: Things) -> Ask:
    """Refused unless the snapshot is the newest of its share."""
    return _action({"id": snapshot["share_id"]}, "revert", {"snapshot_id": snapshot["id"]})


def _manage(chance: Random, location: Thing, things: Things) -> Ask:
    """What was unmanaged; or a share that has gone for good, or is still there."""
    share = location["of"]
    free = [one for one in things["locations"] if one["of"]["id"] not in {one["id"] for one in things["shares"]}]
    if free:
        location = chance.choice(free)
        share = location["of"]
    body = {"export_path": location["path"], "service_host": share["host"], "protocol": share["share_proto"]}
    return Ask("POST", "/shares/manage", {"share": body}, "admin_a")


def _manage_snapshot(_chance: Random, snapshot: Thing, _things: Things) -> Ask:
    body = {"share_id": snapshot["share_id"], "provider_location": snapshot["provider_location"] or "nowhere"}
    return Ask("POST", "/snapshots/manage", {"snapshot": body}, "admin_a")


SHARES = Repertoire(
    listed=[
        Listed("shares", "/shares/detail", "shares"),
        Listed("recycled", "/shares/detail?is_soft_deleted=true", "shares"),
        Listed("snapshots", "/snapshots/detail", "snapshots"),
        Listed("known snapshots", "/snapshots/detail", "snapshots", kept=True),
        Listed("rules", "/share-access-rules?share_id={id}", "access_list", of="shares"),
        Listed("snapshot rules", "/snapshots/{id}/access-list", "snapshot_access_list", of="snapshots"),
        Listed("locations", "/shares/{id}/export_locations", "export_locations", of="shares", kept=True),
    ],
    actions=[
        Action(
            lambda chance, *_: _new(share_proto=chance.choice(("NFS", "NFS", "CIFS")), size=chance.randint(1, 3)),
            weight=5,
        ),
        Action(_new_near, "shares", weight=2),
        Action(lambda _, share, __: Ask("DELETE", f"/shares/{share['id']}"), "shares"),
        Action(lambda _, share, __: _action(share, "force_delete", who="admin_a"), "shares"),
        Action(lambda _, share, __: _action(share, "soft_delete"), "shares"),
        Action(lambda _, share, __: _action(share, "restore"), "recycled"),
        Action(lambda _, share, __: _action(share, "unmanage", who="admin_a"), "shares"),
        Action(_manage, "locations", weight=2),
        _resize("extend", 1),
        _resize("shrink", -1),
        Action(_revert, "snapshots", weight=2),
        Action(
            lambda chance, share, _: _action(
                share, "allow_access", {**_allow(chance), "access_level": chance.choice(("rw", "ro"))}
            ),
            "shares",
            weight=6,
        ),
        Action(
            lambda chance, rule, _: Ask(
                "PUT",
                f"/share-access-rules/{rule['id']}",
                {"update_access": {"access_level": chance.choice(["rw", "ro"])}},
            ),
            "rules",
        ),
        Action(lambda _, rule, __: _action(rule["of"], "deny_access", {"access_id": rule["id"]}), "rules", weight=3),
        Action(
            lambda _, share, __: Ask("POST", "/snapshots", {"snapshot": {"share_id": share["id"]}}), "shares", weight=3
        ),
        Action(lambda _, one, __: Ask("DELETE", f"/snapshots/{one['id']}"), "snapshots"),
        Action(lambda _, one, __: _action(one, "force_delete", who="admin_a", what="snapshots"), "snapshots"),
        Action(lambda _, one, __: _action(one, "unmanage", who="admin_a", what="snapshots"), "snapshots"),
        Action(_manage_snapshot, "known snapshots"),
        Action(lambda _, one, __: _new(share_proto=one["share_proto"], snapshot_id=one["id"]), "snapshots", weight=2),
        Action(
            lambda chance, one, _: _action(one, "allow_access", _allow(chance), what="snapshots"), "snapshots", weight=3
        ),
        Action(
            lambda _, rule, __: _action(rule["of"], "deny_access", {"access_id": rule["id"]}, what="snapshots"),
            "snapshot rules",
            weight=2,
        ),
    ],
)
