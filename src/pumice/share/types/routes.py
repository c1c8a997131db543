"""The routes of types (of shares)."""

from __future__ import annotations

from pumice.kernel.api.routes import Route, Rule

ROUTES: list[Route] = []
RULES: list[Rule] = []
