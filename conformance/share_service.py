"""A Shared File Systems service on simulated backends, and its Keystone, for `conformance/run --service share`.

    .venv/bin/python conformance/share_service.py /tmp/shares

It prints the clouds.yaml to name in OS_CLIENT_CONFIG_FILE; the cloud there is called `pumice`.
"""

from __future__ import annotations

import argparse
import logging
import signal
import tempfile
import threading
from pathlib import Path

from cheroot.wsgi import Server
from sqlalchemy.orm import Session

from pumice.kernel import config
from pumice.kernel.db.base import new_id
from pumice.kernel.db.scope import everything
from pumice.share.service import ShareService
from pumice.share.types.model import ShareType
from pumice.standalone import clouds, ports
from pumice.standalone.database import upgrade
from pumice.standalone.keystone import CatalogEntry, Keystone, Login

HOST = "127.0.0.1"
BACKENDS = ("ALPHA", "BETA")
PROTOCOLS = ("NFS", "CIFS", "GLUSTERFS", "CEPHFS")
SPECS = {
    "driver_handles_share_servers": "False",
    "snapshot_support": "True",
    "create_share_from_snapshot_support": "True",
    "revert_to_snapshot_support": "True",
    "mount_snapshot_support": "True",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("directory", type=Path, nargs="?", help="where everything is kept; else a temporary one")
    directory = parser.parse_args().directory
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="pumice-shares-") as temporary:
        try:
            serve((directory or Path(temporary)).absolute())
        except KeyboardInterrupt:
            print("Stopped.")


def serve(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    keystone_port, port = ports.next_free(HOST, 15000), ports.next_free(HOST, 18786)
    logging.basicConfig(filename=directory / "share.log", level=logging.INFO)
    with Keystone(directory / "keystone", keystone_port) as keystone:
        service = share_service(directory, keystone.account("pumice", "service", ["service"]))
        url = f"http://{HOST}:{port}/v2/$(project_id)s"
        kinds = ("shared-file-system", "sharev2")
        keystone.catalog(
            [CatalogEntry("identity", "keystone", keystone.auth_url), *(CatalogEntry(k, "pumice", url) for k in kinds)]
        )
        clouds.write(directory / "clouds.yaml", {"pumice": clouds.entry(keystone.admin)})
        server = Server((HOST, port), service.wsgi(), numthreads=16, request_queue_size=128)
        server.prepare()
        service.start()
        threading.Thread(target=server.serve, daemon=True).start()
        try:
            print(f"OS_CLIENT_CONFIG_FILE={directory / 'clouds.yaml'}\n{url}", flush=True)
            signal.pause()
        finally:
            server.stop()
            service.stop()


def share_service(directory: Path, login: Login) -> ShareService:
    backends = {
        name: {
            "share_driver": "simulated",
            "share_backend_name": name,
            "simulated_pools": 2,
            "simulated_protocols": list(PROTOCOLS),
        }
        for name in BACKENDS
    }
    sections = {
        "DEFAULT": {
            "host": "conformance",
            "state_path": str(directory / "state"),
            "enabled_share_backends": list(BACKENDS),
            "enabled_share_protocols": list(PROTOCOLS),
            "default_share_type": "default",
            "use_scheduler_creating_share_from_snapshot": True,
        },
        "database": {"connection": f"sqlite:///{directory / 'share.db'}"},
        "coordination": {"backend_url": f"file://{directory / 'locks'}"},
        "keystone_authtoken": {"auth_type": "password", "www_authenticate_uri": login.auth_url, **login.auth()},
        **backends,
    }
    conf = config.load("share", (), sections)
    upgrade(conf, "share")
    service = ShareService(conf)
    service.db.write(add_type)
    return service


def add_type(tx: Session) -> None:
    if tx.scalars(everything().select(ShareType)).first() is None:
        tx.add(ShareType(id=new_id(), name="default", extra_specs=SPECS))


if __name__ == "__main__":
    main()
