from __future__ import annotations

from pathlib import Path

import pytest
from stevedore.extension import ExtensionManager

from pumice.kernel.scheduling.filters import AvailabilityZoneFilter, CapacityFilter
from pumice.kernel.scheduling.plugins import Lookups, PluginMissing, load_filters, load_weighers
from pumice.kernel.scheduling.weighers import CapacityWeigher, ChanceWeigher

HERE = "pumice.kernel.scheduling"


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution with entry points of its own, as a plugin's author would install it."""
    about = tmp_path / "site" / "somebodys_plugins-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: somebodys-plugins\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[pumice.scheduler.filters]\n"
        f"TheirCapacityFilter = {HERE}.filters:CapacityFilter\n"
        f"TheirZoneFilter = {HERE}.filters:AvailabilityZoneFilter\n"
        f"NotAFilter = {HERE}.weighers:ChanceWeigher\n"
        f"Broken = {HERE}.filters:Nothing\n"
        "[pumice.scheduler.weighers]\n"
        f"TheirCapacityWeigher = {HERE}.weighers:CapacityWeigher\n"
        f"TheirChanceWeigher = {HERE}.weighers:ChanceWeigher\n"
    )
    monkeypatch.syspath_prepend(str(about.parent))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # What was found before, by other tests, is remembered for the whole process.
    monkeypatch.setattr(ExtensionManager, "ENTRY_POINT_CACHE", {})


def test_filters_are_loaded_in_the_order_of_their_names() -> None:
    lookups = Lookups()
    loaded = load_filters(["TheirZoneFilter", "TheirCapacityFilter"], lookups)
    assert [type(each) for each in loaded] == [AvailabilityZoneFilter, CapacityFilter]
    assert all(each.lookups is lookups for each in loaded)
    assert load_filters([], lookups) == []


def test_weighers_take_their_multipliers_from_the_configuration() -> None:
    names = ["TheirChanceWeigher", "TheirCapacityWeigher"]
    loaded = load_weighers(names, Lookups(), {"capacity_weight_multiplier": -2.5})
    assert [(type(each), each.multiplier) for each in loaded] == [(ChanceWeigher, 1.0), (CapacityWeigher, -2.5)]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("NobodyFilter", "NobodyFilter: not found in the entry points pumice.scheduler.filters"),
        ("NotAFilter", "is no Filter"),
        ("Broken", "cannot be loaded"),
    ],
)
def test_a_name_that_cannot_be_used_says_so(name: str, reason: str) -> None:
    with pytest.raises(PluginMissing, match=reason):
        load_filters([name], Lookups())
