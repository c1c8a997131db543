"""A driver that can do what every one can, and nothing else; on the simulated one, so that its calls are real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from oslo_config import cfg

from pumice.block.drivers.base import OPTIONAL, Export, Inventory, VolumePoolStats, VolumeRef
from pumice.block.drivers.simulated import SimulatedDriver


class PlainDriver:
    vendor, version, protocol = "Test", "1.0", "iSCSI"
    options: Sequence[cfg.Opt] = SimulatedDriver.options

    def __init__(self, section: cfg.ConfigOpts.GroupAttr, *, name: str, state_dir: Path) -> None:
        self._inner = SimulatedDriver(section, name=name, state_dir=state_dir)

    def start(self) -> None:
        self._inner.start()

    def stop(self) -> None:
        self._inner.stop()

    def pools(self) -> Sequence[VolumePoolStats]:
        return self._inner.pools()

    def inventory(self) -> Inventory:
        return self._inner.inventory()

    def exports(self) -> Mapping[str, str]:
        return self._inner.exports()

    def create_volume(self, volume: VolumeRef) -> None:
        self._inner.create_volume(volume)

    def delete_volume(self, volume: VolumeRef) -> None:
        self._inner.delete_volume(volume)

    def extend_volume(self, volume: VolumeRef, new_size: int) -> None:
        self._inner.extend_volume(volume, new_size)

    def connect(self, export: Export) -> Mapping[str, Any]:
        return self._inner.connect(export)

    def disconnect(self, export: Export) -> None:
        self._inner.disconnect(export)


class BoastingDriver(PlainDriver):
    """Reports that it can do everything: what is refused then is refused by the worker."""

    def pools(self) -> Sequence[VolumePoolStats]:
        return [replace(stats, extra={"features": sorted(OPTIONAL)}) for stats in super().pools()]
