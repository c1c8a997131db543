from __future__ import annotations

import logging
from pathlib import Path

import pytest
from oslo_config import cfg

from pumice.kernel import config
from pumice.kernel.config import ConfigError, load


class ToyDriver:
    options = (
        cfg.StrOpt("toy_colour", default="red", choices=["red", "blue"]),
        cfg.IntOpt("toy_size", default=1, min=1),
        cfg.IntOpt("reserved_percentage", default=7),
    )


TOY = f"{__name__}:ToyDriver"


def written(path: Path, text: str) -> Path:
    file = path / "block.conf"
    file.write_text(text)
    return file


def refusal(tmp_path: Path, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load("block", [written(tmp_path, text)])
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_two_configurations_live_side_by_side_and_the_global_one_is_left_alone() -> None:
    first = load("block", overrides={"DEFAULT": {"osapi_max_limit": 5}})
    second = load("block")
    assert (first.osapi_max_limit, second.osapi_max_limit) == (5, 1000)
    assert "osapi_max_limit" not in cfg.CONF


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("osapi_max_limit", 1000), ("public_endpoint", None), ("default_volume_type", "__DEFAULT__"),
        ("storage_availability_zone", "nova"), ("default_availability_zone", None),
        ("allow_availability_zone_fallback", False), ("cloned_volume_same_az", True),
        ("service_down_time", 60), ("report_interval", 10),
        ("no_snapshot_gb_quota", False), ("use_default_quota_class", True),
        ("per_volume_size_limit", -1), ("quota_volumes", 10), ("quota_gigabytes", 1000), ("quota_snapshots", 10),
        ("quota_backups", 10), ("quota_backup_gigabytes", 1000), ("quota_groups", 10),
        ("message_ttl", 2592000), ("message_reap_interval", 86400), ("scheduler_max_attempts", 3),
        ("capacity_weight_multiplier", 1.0), ("auth_strategy", "keystone"), ("project_id_regex", r"[0-9a-f\-]+"),
        ("osapi_volume_listen_port", 8776),
    ],
)  # fmt: skip
def test_documented_defaults(option: str, value: object) -> None:
    assert load("block")[option] == value


def test_documented_defaults_of_sections() -> None:
    conf = load("block")
    assert conf.keystone_authtoken.service_token_roles == ["service"]
    assert conf.keystone_authtoken.auth_type == "password"
    assert conf.oslo_middleware.max_request_body_size == 114688


def test_state_path_is_the_place_of_database_and_locks(tmp_path: Path) -> None:
    conf = load("block", overrides={"DEFAULT": {"state_path": str(tmp_path)}})
    assert conf.database.connection == f"sqlite:///{tmp_path}/block.sqlite"
    assert conf.coordination.backend_url == f"file://{tmp_path}/coordination"


def test_overrides_win_over_later_files_over_earlier_ones(tmp_path: Path) -> None:
    first, second = tmp_path / "1.conf", tmp_path / "2.conf"
    first.write_text("[DEFAULT]\nquota_volumes = 1\nquota_groups = 1\nquota_backups = 1\n")
    second.write_text("[DEFAULT]\nquota_groups = 2\nquota_backups = 2\n")
    conf = load("block", [first, second], {"DEFAULT": {"quota_backups": 3}})
    assert (conf.quota_volumes, conf.quota_groups, conf.quota_backups) == (1, 2, 3)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("osapi_volume_listen_port = 99999", "[DEFAULT] osapi_volume_listen_port = 99999 is refused: .* 65535"),
        ("quota_volumes = many", "[DEFAULT] quota_volumes = many is refused: .*"),
        ("quota_volumes = -2", "[DEFAULT] quota_volumes = -2 is refused: .* -1"),
        ("auth_strategy = noauth", "[DEFAULT] auth_strategy = noauth is refused: .*keystone.*"),
        ("cloned_volume_same_az = perhaps", "[DEFAULT] cloned_volume_same_az = perhaps is refused: .*"),
        ("service_down_time = 10", "[DEFAULT] service_down_time = 10 is refused: .* report_interval, which is 10"),
        ("[keystone_authtoken]\ntoken_cache_time = x", "[keystone_authtoken] token_cache_time = x is refused: .*"),
        ("[keystone_authtoken]\nauth_type = magic", "[keystone_authtoken] auth_type = magic is refused: .*password.*"),
    ],
)
def test_a_wrong_value_names_section_option_value_and_what_is_allowed(tmp_path: Path, line: str, message: str) -> None:
    pattern = message.replace("[", r"\[").replace("]", r"\]")
    assert pytest.RaisesExc(ConfigError, match=f"^{pattern}$").matches(
        ConfigError(refusal(tmp_path, f"[DEFAULT]\n{line}\n"))
    )


def test_a_secret_is_not_shown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load("block", overrides={"DEFAULT": {"enabled_backends": "a"}, "a": {"volume_driver": SECRETIVE, "pin": "x1y"}})
    assert str(caught.value).startswith("[a] pin = *** is refused")


class SecretiveDriver:
    options = (cfg.IntOpt("pin", secret=True),)


SECRETIVE = f"{__name__}:SecretiveDriver"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("enabled_backends = one", "[DEFAULT] enabled_backends = one is refused: there is no section [one] (in FILE)"),
        (
            f"enabled_backends = one,one\n[one]\nvolume_driver = {TOY}",
            "[DEFAULT] enabled_backends = one is refused: the name is taken, or listed twice (in FILE)",
        ),
        (
            "enabled_backends = database\n[database]\n",
            "[DEFAULT] enabled_backends = database is refused: the name is taken, or listed twice (in FILE)",
        ),
        (
            f"enabled_backends = cluster\n[cluster]\nvolume_driver = {TOY}",
            "[DEFAULT] enabled_backends = cluster is refused: the name is taken, or listed twice (in FILE)",
        ),
        (
            f"enabled_backends = one\n[one]\nvolume_driver = {TOY}\ntoy_colour = green",
            "[one] toy_colour = green is refused: Valid values are [red, blue], but found 'green'",
        ),
        (
            f"enabled_backends = one\n[one]\n[backend_defaults]\nvolume_driver = {TOY}\ntoy_size = 0",
            "[backend_defaults] toy_size = 0 is refused: Should be greater than or equal to 1",
        ),
    ],
)
def test_a_wrong_backend_is_refused(tmp_path: Path, text: str, message: str) -> None:
    assert refusal(tmp_path, f"[DEFAULT]\n{text}\n") == message.replace("FILE", str(tmp_path / "block.conf"))


def test_a_backend_without_a_driver_is_told_which_there_are(tmp_path: Path) -> None:
    message = refusal(tmp_path, "[DEFAULT]\nenabled_backends = one\n[one]\nvolume_driver =\n")
    assert message.startswith("[one] volume_driver is missing: it may be file, ")


def test_the_last_file_that_gave_a_driver_is_named(tmp_path: Path) -> None:
    first = written(tmp_path, f"[DEFAULT]\nenabled_backends = one\n[one]\nvolume_driver = {TOY}\n")
    own = tmp_path / "local.conf"
    own.write_text("[one]\nvolume_driver = nosuch\n")
    with pytest.raises(ConfigError) as caught:
        load("block", [first, own])
    assert str(caught.value).endswith(f"or the path of a class (in {own})")


@pytest.mark.parametrize("value", ["nosuch", "cinder.volume.drivers.lvm.LVMVolumeDriver", f"{__name__}:Nothing"])
def test_an_unknown_driver_is_refused_with_the_names_of_known_ones(tmp_path: Path, value: str) -> None:
    message = refusal(tmp_path, f"[DEFAULT]\nenabled_backends = one\n[one]\nvolume_driver = {value}\n")
    assert message.startswith(f"[one] volume_driver = {value} is refused: it may be ")
    for name in config.drivers("pumice.block.drivers"):
        assert name in message


def test_a_backends_section_has_common_and_the_drivers_options(tmp_path: Path) -> None:
    text = f"""
    [DEFAULT]
    enabled_backends = one, two
    [backend_defaults]
    volume_driver = {TOY}
    toy_size = 5
    [one]
    toy_colour = blue
    [two]
    toy_size = 9
    volume_backend_name = second
    """
    conf = load("block", [written(tmp_path, "\n".join(line.strip() for line in text.splitlines()))])
    one, two = config.backends(conf, "block")
    assert (one.name, one.driver, two.driver) == ("one", ToyDriver, ToyDriver)
    assert (one.section.toy_colour, one.section.toy_size, one.section.reserved_percentage) == ("blue", 5, 7)
    assert (two.section.toy_colour, two.section.toy_size, two.section.volume_backend_name) == ("red", 9, "second")
    assert one.section.max_over_subscription_ratio == "20.0"


def test_a_backend_may_come_from_overrides_alone() -> None:
    conf = load("block", overrides={"DEFAULT": {"enabled_backends": ["x"]}, "x": {"volume_driver": TOY, "toy_size": 3}})
    assert conf.x.toy_size == 3


@pytest.mark.parametrize("overrides", [{"DEFAULT": {"nothing": 1}}, {"nowhere": {"x": 1}}])
def test_an_unknown_override_is_an_error(overrides: dict[str, dict[str, object]]) -> None:
    with pytest.raises(ConfigError, match="there is no"):
        load("block", overrides=overrides)


def test_unknown_options_are_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = """[DEFAULT]
quota_volums = 3
transport_url = rabbit://h
control_exchange = cinder
log-dir = /nowhere
debug = true
[lvm-1]
volume_group = x
[oslo_messaging_rabbit]
heartbeat_rate = 3
[keystone_authtoken]
auth_url = http://127.0.0.1:5
user_domain_name = Default
memcache_servers = m:1
[nova]
auth_type = v3applicationcredential
application_credential_id = x
"""
    with caplog.at_level(logging.WARNING):
        conf = load("block", [written(tmp_path, text)])
    assert conf.nova.application_credential_id == "x"
    assert [record.getMessage() for record in caplog.records if record.name == config.__name__] == [
        "Options that are not known and have no effect: [DEFAULT] quota_volums, section [lvm-1]"
    ]


def test_a_missing_or_broken_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.conf: there is no such file"):
        load("block", [tmp_path / "nowhere.conf"])
    assert "block.conf cannot be read" in refusal(tmp_path, "[DEFAULT\nx\n")
    (tmp_path / "block.conf").write_bytes(b"[DEFAULT]\nx = \xff\xfe\n")
    with pytest.raises(ConfigError, match=r"block\.conf cannot be read"):
        load("block", [tmp_path / "block.conf"])


CINDER_CONF = """
[DEFAULT]
my_ip = 192.0.2.11
rootwrap_config = /etc/cinder/rootwrap.conf
api_paste_config = /etc/cinder/api-paste.ini
auth_strategy = keystone
transport_url = rabbit://openstack:secret@192.0.2.10:5672/
glance_api_servers = http://192.0.2.10:9292
enabled_backends = lvm
osapi_volume_listen = 192.0.2.11
osapi_volume_workers = 4
[database]
connection = mysql+pymysql://cinder:secret@192.0.2.10/cinder
max_pool_size = 20
[oslo_concurrency]
lock_path = /var/lib/cinder/tmp
[oslo_messaging_rabbit]
heartbeat_timeout_threshold = 60
[keystone_authtoken]
auth_url = http://192.0.2.10:5000
auth_type = password
username = cinder
password = secret
memcached_servers = 192.0.2.10:11211
[lvm]
volume_driver = cinder.volume.drivers.lvm.LVMVolumeDriver
volume_group = cinder-volumes
target_helper = lioadm
"""


def test_an_existing_cinder_conf_serves_where_no_backend_is_needed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = written(tmp_path, CINDER_CONF)
    conf = config.load("block", [file], backends=False)
    assert (conf.osapi_volume_listen, conf.osapi_volume_workers) == ("192.0.2.11", 4)
    (warning,) = [record.getMessage() for record in caplog.records]
    unknown = ["my_ip", "rootwrap_config", "api_paste_config", "glance_api_servers"]
    assert warning.endswith(": " + ", ".join(f"[DEFAULT] {name}" for name in unknown))
    with pytest.raises(ConfigError, match=r"cinder.volume.drivers.lvm.LVMVolumeDriver is refused: it may be file, "):
        config.load("block", [file])
