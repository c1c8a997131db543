"""Access rules of shares and of snapshots over the API (sections 6 and 9)."""

from __future__ import annotations

from pumice.kernel.api.routes import Route, Rule

ROUTES: list[Route] = []

RULES: list[Rule] = []
