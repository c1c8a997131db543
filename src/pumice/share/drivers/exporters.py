"""The file servers that a backend's section names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from oslo_config import cfg, types

from pumice.share.exports.base import Exporter
from pumice.share.exports.ganesha import NFS_PORT, GaneshaExporter
from pumice.share.exports.samba import SMB_PORT, SambaExporter

OPTIONS = [
    cfg.ListOpt(
        "export_protocols",
        item_type=types.String(choices=["NFS", "CIFS"]),
        default=["NFS"],
        help="The protocols that shares are exported by: NFS (NFS-Ganesha) and CIFS (Samba).",
    ),
    cfg.HostAddressOpt("nfs_address", default="127.0.0.1", help="The address that clients mount NFS shares from."),
    cfg.PortOpt("nfs_port", default=NFS_PORT, help="The port that NFS-Ganesha listens on."),
    cfg.StrOpt("ganesha_bus", default="SYSTEM", help="The D-Bus that NFS-Ganesha is on: SYSTEM or unix:path=…"),
    cfg.StrOpt(
        "ganesha_directory",
        help="Where the files of NFS exports lie; by default `ganesha/exports` below state_path. NFS-Ganesha's "
        "configuration includes `index.conf` from there.",
    ),
    cfg.HostAddressOpt("smb_address", default="127.0.0.1", help="The address that clients mount SMB shares from."),
    cfg.PortOpt("smb_port", default=SMB_PORT, help="The port that Samba listens on."),
    cfg.StrOpt("samba_configuration", default="/etc/samba/smb.conf", help="The smb.conf of the Samba that exports."),
]


def configured_exporters(section: cfg.ConfigOpts.GroupAttr, state_dir: Path) -> Mapping[str, Exporter]:
    """By protocol."""

    def ganesha() -> Exporter:
        directory = Path(section.ganesha_directory or state_dir / "ganesha" / "exports")
        return GaneshaExporter(directory, section.ganesha_bus, section.nfs_address, port=section.nfs_port)

    def samba() -> Exporter:
        configuration, lock = Path(section.samba_configuration), state_dir / "samba.lock"
        return SambaExporter(configuration, section.smb_address, lock=lock, port=section.smb_port)

    makers: Mapping[str, Callable[[], Exporter]] = {"NFS": ganesha, "CIFS": samba}
    return {protocol: makers[protocol]() for protocol in section.export_protocols}
