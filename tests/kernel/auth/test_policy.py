from __future__ import annotations

import itertools
import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oslo_policy import policy as oslo

from pumice.block.policy import HELPER_OF, HELPERS
from pumice.kernel import config
from pumice.kernel.api.routes import ADMIN, ANYONE, MEMBER, READER, Route, Rule
from pumice.kernel.auth import policy as under_test
from pumice.kernel.auth.context import RequestContext
from pumice.kernel.auth.policy import Policy, defaults_of, sample
from tests.support.identity import PEOPLE, PROJECT_A
from tests.support.waiting import eventually


def _no_handler(_req: object) -> None: ...


TABLE = [
    Route("GET", "/things/{id}", _no_handler, "thing:get", READER, doc="Show a thing."),
    Route("DELETE", "/things/{id}", _no_handler, "thing:delete", MEMBER),
    Route("POST", "/things/{id}/action", _no_handler, "thing:delete", MEMBER, action="os-drop"),
    Route("PUT", "/things/{id}", _no_handler, ("thing:delete", "thing:update"), MEMBER),
    Route("GET", "/hosts", _no_handler, "thing:hosts", ADMIN),
    Route("GET", "/limits", _no_handler, "thing:anyone", ANYONE),
    Route("GET", "/free", _no_handler, "", ANYONE),
]
RULES = [
    Rule(name="thing:host_attribute", check=ADMIN, doc="Who sees the host of a thing."),
    Rule(name="thing:nested", check="project_id:%(target.project_id)s"),
    Rule(name="thing:by_user", check="user_id:%(user_id)s or role:manager"),
]
IN_A = {"project_id": PROJECT_A, "user_id": PEOPLE["member_a"].user_id}


def defaults() -> list[oslo.RuleDefault]:
    return defaults_of(TABLE, RULES, HELPERS, HELPER_OF)


def policy(tmp_path: Path, text: str | None = None) -> Policy:
    file = tmp_path / "policy.yaml"
    if text is None:
        return Policy(config.load("block"), defaults())
    file.write_text(text)
    return Policy(config.load("block", overrides={"oslo_policy": {"policy_file": str(file)}}), defaults())


# A token of the whole system has no project: routes are outside its scope, rules that no route names ask for roles.
EXPECTED = {
    "thing:get": {"admin", "admin_a", "manager_a", "member_a", "member2_a", "reader_a", "service",
                  "member_a_via_service"},
    "thing:delete": {"admin", "admin_a", "manager_a", "member_a", "member2_a", "service", "member_a_via_service"},
    "thing:hosts": {"admin", "admin_a", "service"},
    "thing:host_attribute": {"admin", "admin_a", "service", "system_admin"},
    "thing:anyone": PEOPLE.keys() - {"system_admin"},
    "thing:by_user": {"admin", "admin_a", "manager_a", "member_a", "member_a_via_service", "service", "system_admin"},
    "context_is_admin": {"admin", "admin_a", "service", "system_admin"},
    "admin_or_owner": {"admin", "admin_a", "manager_a", "member_a", "member2_a", "reader_a", "service",
                       "member_a_via_service", "no_roles_a", "system_admin"},
}  # fmt: skip


@pytest.mark.parametrize("rule", EXPECTED)
def test_who_passes_by_default(tmp_path: Path, rule: str) -> None:
    decides = policy(tmp_path)
    for _ in range(2):  # decided, then remembered
        assert {name for name, person in PEOPLE.items() if decides.authorize(person, rule, IN_A)} == EXPECTED[rule]


def test_the_default_target_is_the_callers_own(tmp_path: Path) -> None:
    decides = policy(tmp_path)
    assert decides.authorize(PEOPLE["reader_b"], "thing:get")
    assert not decides.authorize(PEOPLE["reader_b"], "thing:get", IN_A)
    assert not decides.authorize(PEOPLE["reader_b"], "thing:delete")


def test_is_admin_follows_the_rule_context_is_admin(tmp_path: Path) -> None:
    assert not policy(tmp_path).is_admin(PEOPLE["manager_a"])
    assert policy(tmp_path, '"context_is_admin": "role:manager"').is_admin(PEOPLE["manager_a"])


@pytest.mark.parametrize("rule", ["thing:get", "thing:delete", "thing:hosts", "thing:anyone"])
def test_tokens_without_a_project_are_outside_the_scope_of_routes(tmp_path: Path, rule: str) -> None:
    roles = frozenset({"admin", "member", "reader"})
    system = RequestContext(user_id="u", roles=roles, is_admin=True, system_scope="all")
    domain = RequestContext(user_id="u", roles=roles, is_admin=True, domain_id="default")
    decides = policy(tmp_path)
    assert decides.authorize(PEOPLE["admin"], rule, IN_A)
    assert not decides.authorize(system, rule, IN_A)
    assert not decides.authorize(domain, rule, IN_A)


def test_an_unknown_rule_is_a_mistake_and_not_a_refusal(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="thing:nothing"):
        policy(tmp_path).authorize(PEOPLE["admin"], "thing:nothing")


def test_an_override_replaces_a_default(tmp_path: Path) -> None:
    decides = policy(tmp_path, '"thing:get": "role:admin"\n"thing:hosts": "rule:admin_or_owner"\n')
    assert not decides.authorize(PEOPLE["reader_a"], "thing:get", IN_A)
    assert decides.authorize(PEOPLE["reader_a"], "thing:hosts", IN_A)
    assert not decides.authorize(PEOPLE["reader_b"], "thing:hosts", IN_A)


def test_an_override_of_a_helper_changes_every_rule_that_stands_on_it(tmp_path: Path) -> None:
    decides = policy(tmp_path, '"xena_system_admin_or_project_reader": "role:admin"\n"admin_api": "role:manager"\n')
    assert not decides.authorize(PEOPLE["reader_a"], "thing:get", IN_A)
    assert decides.authorize(PEOPLE["manager_a"], "thing:hosts", IN_A)
    assert decides.authorize(PEOPLE["manager_a"], "thing:host_attribute", IN_A)


def test_unknown_rules_in_the_file_are_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        policy(tmp_path, '"cg:create": ""\n"thing:get": "@"\n"cg:delete": "!"\n')
    said = [record.getMessage() for record in caplog.records if record.name == under_test.__name__]
    assert len(said) == 1
    assert said[0].endswith("cg:create, cg:delete")


def test_a_changed_file_counts_without_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_test, "RELOAD_SECONDS", 0.05)
    decides = policy(tmp_path, '"thing:get": "!"\n')
    reader, file = PEOPLE["reader_a"], tmp_path / "policy.yaml"
    assert not decides.authorize(reader, "thing:get", IN_A)
    file.write_text('"thing:get": "role:reader"\n')
    eventually(lambda: decides.authorize(reader, "thing:get", IN_A))
    file.write_text('"thing:get": [broken\n')
    os.utime(file, (1, 1))
    time.sleep(0.2)
    assert decides.authorize(reader, "thing:get", IN_A)
    file.unlink()
    time.sleep(0.2)
    assert decides.authorize(reader, "thing:get", IN_A)
    file.write_text('"thing:get": "!"\n')
    eventually(lambda: not decides.authorize(reader, "thing:get", IN_A))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[broken", "policy.yaml cannot be read"),
        ("- a list", "policy.yaml cannot be read"),
        ('"thing:get": "rule:thing:hosts"\n"thing:hosts": "rule:thing:get"\n', "thing:get -> thing:hosts"),
    ],
)
def test_a_policy_file_that_cannot_be_followed_stops_the_start(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(config.ConfigError, match=message):
        policy(tmp_path, text)


def test_a_named_policy_file_must_exist(tmp_path: Path) -> None:
    missing = str(tmp_path / "gone.yaml")
    conf = config.load("block", overrides={"oslo_policy": {"policy_file": missing}})
    with pytest.raises(config.ConfigError, match=r"\[oslo_policy\] policy_file = .*gone\.yaml: there is no such file"):
        Policy(conf, defaults())


def test_a_check_that_cannot_be_parsed_refuses(tmp_path: Path) -> None:
    decides = policy(tmp_path, '"thing:get": "role:admin or ("\n')
    assert not decides.authorize(PEOPLE["admin"], "thing:get", IN_A)


def test_rows_that_disagree_about_a_rule_are_refused_unless_the_rule_is_declared() -> None:
    table = [*TABLE, Route("PUT", "/hosts", _no_handler, "thing:hosts", MEMBER)]
    with pytest.raises(ValueError, match="thing:hosts"):
        defaults_of(table)
    found = {
        default.name: default.check_str for default in defaults_of(table, [Rule(name="thing:hosts", check=READER)])
    }
    assert found["thing:hosts"] == READER


def test_defaults_name_each_rule_once_with_all_its_routes() -> None:
    found = {default.name: default for default in defaults()}
    assert len(found) == len(defaults())
    deleting = found["thing:delete"]
    assert isinstance(deleting, oslo.DocumentedRuleDefault)
    assert deleting.operations == [
        {"method": "DELETE", "path": "/things/{id}"},
        {"method": "POST", "path": "/things/{id}/action (os-drop)"},
        {"method": "PUT", "path": "/things/{id}"},
    ]


def test_the_sample_is_yaml_that_changes_nothing(tmp_path: Path) -> None:
    text = sample(defaults())
    assert '#"thing:get": "rule:xena_system_admin_or_project_reader"' in text
    assert "# GET    /things/{id}" in text
    live = "\n".join(line.removeprefix("#") for line in text.splitlines() if line.startswith('#"'))
    for decides in (policy(tmp_path, text), policy(tmp_path, live)):
        assert [default.check_str for default, _ in decides.effective()] == [d.check_str for d in defaults()]
        assert decides.authorize(PEOPLE["reader_a"], "thing:get", IN_A)


def test_effective_shows_what_is_in_force(tmp_path: Path) -> None:
    effective = {default.name: check for default, check in policy(tmp_path, '"thing:get": "role:x"').effective()}
    assert effective["thing:get"] == "role:x"


_VALUES = st.sampled_from(["a", "b", None])
_TARGETS = st.dictionaries(st.sampled_from(["project_id", "user_id", "x"]), st.sampled_from(["a", "b", None, ["a"]]))
_PEOPLE = st.builds(
    RequestContext,
    user_id=_VALUES,
    project_id=_VALUES,
    roles=st.frozensets(st.sampled_from(["admin", "member", "reader", "a"])),
    is_admin=st.booleans(),
    service_roles=st.frozensets(st.sampled_from(["service"])),
    system_scope=st.sampled_from([None, "all"]),
)
_CHECKS = [
    "role:admin", "role:%(x)s", "user_id:%(user_id)s", "not project_id:%(project_id)s", "'a':%(x)s", "None:%(x)s",
    "is_admin:True", "rule:one and (rule:two or not rule:three)", "tenant:%(project_id)s", "system_scope:all",
    "service_roles:service", "rule:undefined or role:reader", "token.project.id:%(x)s", "@", "!",
]  # fmt: skip


@pytest.fixture(scope="module")
def many() -> Policy:
    rules = [
        Rule(name="one", check="role:member"),
        Rule(name="two", check="user_id:%(x)s"),
        Rule(name="three", check=READER),
        *(Rule(name=f"rule{number}", check=check) for number, check in enumerate(_CHECKS)),
    ]
    return Policy(config.load("block"), defaults_of([], rules))


@given(cases=st.lists(st.tuples(_PEOPLE, _TARGETS), max_size=8))
def test_a_remembered_decision_is_oslo_policys(
    many: Policy, cases: list[tuple[RequestContext, Mapping[str, Any]]]
) -> None:
    enforcer = many._rules.enforcer
    for (person, target), number in itertools.product(cases, range(len(_CHECKS))):
        expected = enforcer.enforce(f"rule{number}", dict(target), person.to_policy_values())
        assert many.authorize(person, f"rule{number}", target) == bool(expected), _CHECKS[number]


def test_a_known_decision_takes_microseconds(tmp_path: Path) -> None:
    decides, person = policy(tmp_path), PEOPLE["member_a"]
    decides.authorize(person, "thing:get", IN_A)
    rounds = []
    for _ in range(5):
        start = time.thread_time()
        for _ in range(2000):
            decides.authorize(person, "thing:get", IN_A)
        rounds.append((time.thread_time() - start) / 2000)
    assert min(rounds) < 20e-6


def test_decisions_are_kept_within_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_test, "KEPT_DECISIONS", 10)
    decides = policy(tmp_path)
    for number in range(50):
        assert not decides.authorize(PEOPLE["member_a"], "thing:get", {"project_id": str(number)})
    decisions = decides._rules.decisions["thing:get"]
    assert decisions is not None
    assert len(decisions.known) <= 10
