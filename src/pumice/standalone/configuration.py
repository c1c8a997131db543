"""block.conf as `pumice up` writes it at each start."""

from __future__ import annotations

from collections.abc import Mapping

from pumice.kernel.files import write_private

from .directory import DataDirectory
from .keystone import REGION, Login
from .target import TargetDaemon

Sections = Mapping[str, Mapping[str, object]]

HOST = "pumice"  # not the machine's name, which may change while volumes stay
BACKEND = "file"


def block_sections(directory: DataDirectory, target: TargetDaemon, pumice: Login, *, host: str, port: int) -> Sections:
    return {
        "DEFAULT": {
            "host": HOST,
            "state_path": directory.state,
            "enabled_backends": BACKEND,
            "osapi_volume_listen": host,
            "osapi_volume_listen_port": port,
            "log_file": directory.log,
            "use_stderr": False,
            "log_rotation_type": "size",
            "max_logfile_size_mb": 20,
            "max_logfile_count": 3,
        },
        "database": {"connection": f"sqlite:///{directory.database}"},
        "coordination": {"backend_url": f"file://{directory.state}/coordination"},
        "keystone_authtoken": {
            "auth_type": "password",
            "www_authenticate_uri": pumice.auth_url,
            "region_name": REGION,
            "service_token_roles_required": True,
            **pumice.auth(),
        },
        BACKEND: {
            "volume_driver": "file",
            "volume_backend_name": BACKEND,
            "directory": directory.storage,
            "target_ip_address": host,
            "target_port": target.port,
            "tgtd_socket": target.socket,
        },
    }


def write(directory: DataDirectory, sections: Sections) -> None:
    lines = [f"# Written by `pumice up` at each start. What shall stay goes into {directory.own_configuration.name}."]
    for section, options in sections.items():
        lines += ["", f"[{section}]"]
        lines += [f"{name} = {_escaped(value)}" for name, value in options.items()]
    write_private(directory.configuration, "\n".join(lines) + "\n")


def _escaped(value: object) -> str:
    return str(value).replace("$", "$$")
