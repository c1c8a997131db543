"""Who may do what: oslo.policy, with its defaults taken from the route table.

A decision of oslo.policy costs about a tenth of a millisecond, too much for a list that guards five fields. A
check string made of roles, credentials and target values gives the same answer for the same values, so decisions
are kept by exactly the values that the rule reads. Rules that ask elsewhere (`http:`) are never kept.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oslo_config import cfg
from oslo_policy import policy as oslo
from oslo_policy.opts import list_opts

from pumice.kernel.api.routes import Route, Rule
from pumice.kernel.auth.context import RequestContext
from pumice.kernel.config import ConfigError

LOG = logging.getLogger(__name__)

CONTEXT_IS_ADMIN = "context_is_admin"
RELOAD_SECONDS = 1.0
KEPT_DECISIONS = 4096

_SUBSTITUTION = re.compile(r"%\(([^)]*)\)")
_LEAVES = tuple(type(oslo.RuleDefault("leaf", check).check) for check in ("role:x", "a:b", "@", "!"))
_ROLE = _LEAVES[0]
_ATTRIBUTES = {"user": "user_id", "tenant": "project_id"}


def defaults_of(
    table: Iterable[Route],
    rules: Iterable[Rule] = (),
    helpers: Iterable[Rule] = (),
    helper_of: Mapping[str, str] | None = None,
) -> list[oslo.RuleDefault]:
    """The rules of a service with their default checks, in the order of their names.

    Rules of routes take tokens of a project only, whatever the role: one of the system or of a domain is refused.
    Rules that no route names look at what their check says and nothing else.

    :param rules: rules that no route names, and those whose check is not that of the route that names them
    :param helpers: rules that only other rules ask
    :param helper_of: check string -> the helper that stands for it, so that an override of the helper in
        policy.yaml changes every rule that has this check
    :raises ValueError: two routes give one rule different checks, and `rules` does not say which counts
    """
    declared = {rule.name: rule for rule in rules}
    found = dict(declared)
    operations: dict[str, list[oslo.Operation]] = {}
    for route in table:
        path = f"{route.path} ({route.action})" if route.action else route.path
        for name in (route.policy,) if isinstance(route.policy, str) else route.policy:
            if not name:
                continue
            rule = found.setdefault(name, Rule(name=name, check=route.check, doc=route.doc))
            if rule.check != route.check and name not in declared:
                raise ValueError(f"{route.method} {path}: {name} is {rule.check!r} elsewhere, not {route.check!r}")
            operations.setdefault(name, []).append({"method": route.method, "path": path})
    defaults: list[oslo.RuleDefault] = [oslo.RuleDefault(rule.name, rule.check, rule.doc) for rule in helpers]
    for name, rule in found.items():
        check = f"rule:{helper_of[rule.check]}" if helper_of and rule.check in helper_of else rule.check
        if name in operations:
            about, scope = rule.doc or name, ["project"]
            defaults.append(oslo.DocumentedRuleDefault(name, check, about, operations[name], scope_types=scope))
        else:
            defaults.append(oslo.RuleDefault(name, check, rule.doc))
    return sorted(defaults, key=lambda default: default.name)


@dataclass(slots=True)
class _Decisions:
    """One rule's decisions, by the values of the context's attributes and the target's keys that it reads."""

    attributes: tuple[str, ...]
    keys: tuple[str, ...]
    known: dict[tuple[Any, ...], bool] = field(default_factory=dict)


class _Rules:
    """The rules as one state of the policy files has them; a new state is a new object."""

    def __init__(self, conf: cfg.ConfigOpts, defaults: Sequence[oslo.RuleDefault]) -> None:
        self.enforcer = oslo.Enforcer(conf)
        self.enforcer.register_defaults(defaults)
        self.enforcer.load_rules()
        # From here on the files are watched by `Policy`; oslo.policy would look at them in every decision.
        self.enforcer.set_rules(self.enforcer.rules, overwrite=False, use_conf=False)
        self.decisions = {name: self._reads(name) for name in self.enforcer.rules}

    def _reads(self, name: str) -> _Decisions | None:
        values: set[str] = set()
        keys: set[str] = set()
        if not self._collect(self.enforcer.rules[name], values, keys, (name,)):
            return None
        attributes = {_ATTRIBUTES.get(value, value) for value in values} & set(RequestContext.__slots__)
        return _Decisions(tuple(attributes | {"system_scope", "domain_id"}), tuple(keys))

    def _collect(self, check: Any, values: set[str], keys: set[str], path: tuple[str, ...]) -> bool:
        """Gather what `check` reads; False when that is not all it depends on."""
        if isinstance(check, oslo.AndCheck | oslo.OrCheck):
            return all(self._collect(part, values, keys, path) for part in check.rules)
        if isinstance(check, oslo.NotCheck):
            return self._collect(check.rule, values, keys, path)
        if isinstance(check, oslo.RuleCheck):
            if check.match in path:
                raise ConfigError(f"policy rule {path[0]} refers to itself: {' -> '.join((*path, check.match))}")
            try:
                named = self.enforcer.rules[check.match]
            except KeyError:
                return True  # oslo.policy refuses what an undefined rule would decide
            return self._collect(named, values, keys, (*path, check.match))
        if type(check) not in _LEAVES:
            return False
        if isinstance(check, oslo.Check):
            values.add("roles" if type(check) is _ROLE else check.kind.partition(".")[0])
            keys.update(_SUBSTITUTION.findall(check.match))
        # A dotted key may reach into a nested target: such a rule is decided afresh each time.
        return not any("." in key for key in keys)


class Policy:
    """Decisions of one service: `authorize`.

    :param conf: [oslo_policy] names the files with the operator's overrides; a change of them is seen within
        `RELOAD_SECONDS`. A file that has become unreadable is logged, and the rules from before stay.
    :raises ConfigError: a policy file that cannot be read, or rules that refer to themselves
    """

    def __init__(self, conf: cfg.ConfigOpts, defaults: Sequence[oslo.RuleDefault]) -> None:
        for group, options in list_opts():
            conf.register_opts(options, group=group)
        self._conf = conf
        self._defaults = {default.name: default for default in defaults}
        self._lock = threading.Lock()
        self._files = self._state_of_files()
        self._rules = self._load()
        self._next_look = time.monotonic() + RELOAD_SECONDS

    def authorize(self, context: RequestContext, rule: str, target: Mapping[str, Any] | None = None) -> bool:
        """Whether `rule` passes.

        :param target: the object's values that check strings may name, at least `project_id` and `user_id`;
            by default the caller's own
        :raises LookupError: no such rule
        """
        if time.monotonic() >= self._next_look:
            self._look_at_files()
        rules = self._rules
        try:
            decisions = rules.decisions[rule]
        except KeyError:
            raise LookupError(f"the policy has no rule {rule}") from None
        if target is None:
            target = {"project_id": context.project_id, "user_id": context.user_id}
        if decisions is None:
            return self._decide(rules, context, rule, target)
        try:
            key = (
                *[getattr(context, name) for name in decisions.attributes],
                *[target.get(name, KeyError) for name in decisions.keys],
            )
            known = decisions.known.get(key)
        except TypeError:  # a list in the target
            return self._decide(rules, context, rule, target)
        if known is None:
            if len(decisions.known) >= KEPT_DECISIONS:
                decisions.known.clear()
            known = decisions.known[key] = self._decide(rules, context, rule, target)
        return known

    def is_admin(self, context: RequestContext) -> bool:
        return self.authorize(context, CONTEXT_IS_ADMIN, {})

    def effective(self) -> list[tuple[oslo.RuleDefault, str]]:
        """Each known rule with the check that is in force."""
        return [(default, str(self._rules.enforcer.rules[name])) for name, default in self._defaults.items()]

    @staticmethod
    def _decide(rules: _Rules, context: RequestContext, rule: str, target: Mapping[str, Any]) -> bool:
        return bool(rules.enforcer.enforce(rule, dict(target), context.to_policy_values()))

    def _look_at_files(self) -> None:
        if not self._lock.acquire(blocking=False):
            return
        try:
            files = self._state_of_files()
            if files != self._files:
                self._files = files
                self._rules = self._load()
                LOG.info("The policy files changed and were read again")
        except ConfigError as error:
            LOG.error("%s; the rules from before stay in force", error)
        finally:
            self._next_look = time.monotonic() + RELOAD_SECONDS
            self._lock.release()

    def _state_of_files(self) -> tuple[tuple[str, int, int], ...]:
        section = self._conf.oslo_policy
        names = [section.policy_file, *section.policy_dirs]
        found = [Path(path) for name in names if (path := self._conf.find_file(name))]
        for directory in [path for path in found if path.is_dir()]:
            found += sorted(directory.iterdir())
        facts = [(path, path.stat()) for path in found if path.exists()]
        return tuple((str(path), stat.st_mtime_ns, stat.st_size) for path, stat in facts)

    def _load(self) -> _Rules:
        location = self._conf.get_location("policy_file", "oslo_policy")
        file = self._conf.oslo_policy.policy_file
        if location and location.location is not cfg.Locations.opt_default and not self._conf.find_file(file):
            raise ConfigError(f"[oslo_policy] policy_file = {file}: there is no such file")
        try:
            rules = _Rules(self._conf, list(self._defaults.values()))
        # The last two are how oslo.policy takes a file that is YAML, but no map of rules.
        except (ValueError, OSError, cfg.Error, AttributeError, TypeError) as error:
            raise ConfigError(f"[oslo_policy] policy_file = {file} cannot be read: {error}") from error
        if unknown := sorted(set(rules.enforcer.rules) - set(self._defaults)):
            LOG.warning("%s names rules that this service does not ask: %s", file, ", ".join(unknown))
        return rules


def sample(defaults: Iterable[oslo.RuleDefault]) -> str:
    """A policy.yaml with every rule commented out at its default."""
    lines = []
    for default in defaults:
        lines += [f"# {line}" for line in (default.description or default.name).splitlines()]
        for operation in getattr(default, "operations", ()):
            lines.append(f"# {operation['method']:6} {operation['path']}")
        lines += [f'#"{default.name}": "{default.check_str}"', ""]
    return "\n".join(lines)
