"""Users who do one random thing after the other, right and wrong ones, from a seed."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import requests

from tests.support.deployment import Deployment

CONNECTOR = {"host": "client", "ip": "127.0.0.1", "initiator": "iqn.2026-11.test:client"}


class Users:
    """:param seed: the same seed and the same answers give the same actions"""

    def __init__(self, deployment: Deployment, seed: int) -> None:
        self._deployment = deployment
        self._random = random.Random(seed)
        self.accepted = 0

    def act(self, actions: int) -> None:
        """Ask for `actions` things at once, on what there is now; answers may be refusals or a broken connection."""
        things = {kind: self._list(kind) for kind in ("volumes", "snapshots", "attachments")}
        requests_ = [self._choose(things) for _ in range(actions)]
        with ThreadPoolExecutor(actions) as pool:
            list(pool.map(self._ask, requests_))

    def _list(self, kind: str) -> list[dict[str, Any]]:
        answer = self._deployment.call("GET", f"/{kind}/detail")
        listed: list[dict[str, Any]] = answer.json()[kind] if answer.ok else []
        return listed

    def _choose(self, things: dict[str, list[dict[str, Any]]]) -> tuple[str, str, Any]:
        volumes, snapshots = things["volumes"], things["snapshots"]
        actions = ["create"] * 4
        if volumes:
            actions += ["delete", "cascade", "extend", "snapshot", "snapshot", "clone", "attach", "revert"]
        if snapshots:
            actions += ["from_snapshot", "delete_snapshot"]
        if things["attachments"]:
            actions += ["detach"]
        return self._request(self._random.choice(actions), things)

    def _request(self, action: str, things: dict[str, list[dict[str, Any]]]) -> tuple[str, str, Any]:
        pick = self._random.choice
        if action in ("create", "from_snapshot", "clone"):
            return "POST", "/volumes", {"volume": self._new_volume(action, things)}
        if action == "delete_snapshot":
            return "DELETE", f"/snapshots/{pick(things['snapshots'])['id']}", None
        if action == "detach":
            return "DELETE", f"/attachments/{pick(things['attachments'])['id']}", None
        volume = pick(things["volumes"])
        id = volume["id"]
        return {
            "delete": ("DELETE", f"/volumes/{id}", None),
            "cascade": ("DELETE", f"/volumes/{id}?cascade=true", None),
            "extend": ("POST", f"/volumes/{id}/action", {"os-extend": {"new_size": volume["size"] + 1}}),
            "snapshot": ("POST", "/snapshots", {"snapshot": {"volume_id": id}}),
            "attach": ("POST", "/attachments", {"attachment": {"volume_uuid": id, "connector": CONNECTOR}}),
            "revert": ("POST", f"/volumes/{id}/action", {"revert": {"snapshot_id": self._snapshot_of(id, things)}}),
        }[action]

    def _new_volume(self, action: str, things: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
        if action == "from_snapshot":
            return {"snapshot_id": self._random.choice(things["snapshots"])["id"]}
        if action == "clone":
            return {"source_volid": self._random.choice(things["volumes"])["id"]}
        return {"size": self._random.randint(1, 3)}

    @staticmethod
    def _snapshot_of(volume: str, things: dict[str, list[dict[str, Any]]]) -> str:
        own = [one["id"] for one in things["snapshots"] if one["volume_id"] == volume]
        return own[0] if own else volume

    def _ask(self, request: tuple[str, str, Any]) -> None:
        try:
            answer = self._deployment.call(*request)
        except requests.RequestException:
            return  # killed before the answer
        assert answer.status_code < 500 or "/attachments" in request[1], (request, answer.text)
        self.accepted += answer.status_code == 202
