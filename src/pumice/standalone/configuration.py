"""Configuration files as `pumice up` writes them at each start."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pumice.kernel.files import write_private

from .directory import DataDirectory
from .keystone import REGION, Login
from .target import TargetDaemon

Sections = Mapping[str, Mapping[str, object]]

HOST = "pumice"  # not the machine's name, which may change while volumes stay
BACKEND = "file"


def common_sections(directory: DataDirectory, state: Path, database: Path, pumice: Login) -> Sections:
    """What the services have in common."""
    return {
        "DEFAULT": {
            "host": HOST,
            "state_path": state,
            "log_file": directory.log,
            "use_stderr": False,
            "log_rotation_type": "size",
            "max_logfile_size_mb": 20,
            "max_logfile_count": 3,
        },
        "database": {"connection": f"sqlite:///{database}"},
        "coordination": {"backend_url": f"file://{state}/coordination"},
        "keystone_authtoken": {
            "auth_type": "password",
            "www_authenticate_uri": pumice.auth_url,
            "region_name": REGION,
            "service_token_roles_required": True,
            **pumice.auth(),
        },
    }


def block_sections(directory: DataDirectory, target: TargetDaemon, pumice: Login, *, host: str, port: int) -> Sections:
    common = common_sections(directory, directory.state, directory.database, pumice)
    general = {"enabled_backends": BACKEND, "osapi_volume_listen": host, "osapi_volume_listen_port": port}
    backend = {
        "volume_driver": "file",
        "volume_backend_name": BACKEND,
        "directory": directory.storage,
        "target_ip_address": host,
        "target_port": target.port,
        "tgtd_socket": target.socket,
    }
    return {**common, "DEFAULT": {**common["DEFAULT"], **general}, BACKEND: backend}


def write(file: Path, own: Path, sections: Sections) -> list[Path]:
    """Write a service's file; the files that it reads then.

    :param own: the operator's, read after it where it is there
    """
    lines = [f"# Written by `pumice up` at each start. What shall stay goes into {own.name}."]
    for section, options in sections.items():
        lines += ["", f"[{section}]"]
        lines += [f"{name} = {_escaped(value)}" for name, value in options.items()]
    write_private(file, "\n".join(lines) + "\n")
    return [file, own] if own.exists() else [file]


def _escaped(value: object) -> str:
    return str(value).replace("$", "$$")
