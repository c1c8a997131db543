"""clouds.yaml: how the `openstack` command and all that is made with openstacksdk find their clouds."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import requests
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from pumice.kernel.files import write_private

from .keystone import REGION, Login

_CALLER = os.environ.get("SUDO_USER", "") if os.geteuid() == 0 else ""
USER_FILE = Path(f"~{_CALLER}/.config/openstack/clouds.yaml")
"""Where the clients of who called `pumice up` look, through sudo too."""
PATIENCE = 2.0
"""Seconds that another cloud's Keystone has for an answer."""


def entry(login: Login) -> dict[str, Any]:
    return {
        "auth": login.auth(),
        "region_name": REGION,
        "interface": "public",
        "identity_api_version": "3",
        "volume_api_version": "3",
    }


def write(path: Path, clouds: Mapping[str, Mapping[str, Any]]) -> None:
    """Make `path` (mode 0600) hold these clouds and no others."""
    write_private(path, _dump({"clouds": dict(clouds)}))


def merge(path: Path, clouds: Mapping[str, Mapping[str, Any]]) -> bool:
    """Put these clouds into the person's own file and leave all else in it, comments included, as it is.

    :returns: False when the file cannot be read as a clouds.yaml, or not be written; it is as before then
    """
    path = path.expanduser()
    path = path.resolve() if path.is_symlink() else path
    document = _read(path)
    if document is None:
        return False
    known = document["clouds"]
    if all(known.get(name) == cloud for name, cloud in clouds.items()):
        return True
    known.update({name: dict(cloud) for name, cloud in clouds.items()})
    missing = [parent for parent in path.parents if not parent.exists()]
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(path, _dump(document))
        _give(path, *missing)
    except OSError:
        return False
    return True


def _give(*paths: Path) -> None:
    """What root (by sudo) makes in somebody's home is theirs."""
    if os.geteuid() == 0:
        home = paths[-1].parent.stat()
        for path in paths:
            os.chown(path, home.st_uid, home.st_gid)


def rival(path: Path, clouds: Mapping[str, Mapping[str, Any]]) -> str:
    """The Keystone of another cloud that has one of these names in the person's own file, and still answers.

    :returns: its `auth_url`; empty where there is none
    """
    known = (_read(path.expanduser()) or {}).get("clouds", {})
    for name, cloud in clouds.items():
        url = _auth_url(known.get(name))
        if url and url != cloud["auth"]["auth_url"] and _answers(url):
            return url
    return ""


def _auth_url(cloud: object) -> str:
    auth = cloud.get("auth") if isinstance(cloud, dict) else None
    return str(auth.get("auth_url") or "") if isinstance(auth, dict) else ""


def _answers(url: str) -> bool:
    try:
        requests.get(url, timeout=PATIENCE).close()
    except requests.RequestException:
        return False
    return True


def _read(path: Path) -> dict[str, Any] | None:
    """What the file holds, with a dict under `clouds`; None where it is something else than a clouds.yaml."""
    try:
        document = (_yaml().load(path.read_text()) if path.exists() else None) or {}
    except (YAMLError, OSError, UnicodeDecodeError):
        return None
    if not isinstance(document, dict):
        return None
    if document.setdefault("clouds", {}) is None:
        document["clouds"] = {}
    return document if isinstance(document["clouds"], dict) else None


def points_elsewhere() -> bool:
    """Whether this person's environment makes clients read another file than the usual one."""
    return bool(os.environ.get("OS_CLIENT_CONFIG_FILE"))


def _yaml() -> YAML:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    return yaml


def _dump(document: Mapping[str, Any]) -> str:
    text = io.StringIO()
    _yaml().dump(document, text)
    return text.getvalue()
