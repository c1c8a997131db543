"""Transfers of shares between projects over the API (section 15)."""

from __future__ import annotations

from pumice.kernel.api.routes import Route, Rule

ROUTES: list[Route] = []

RULES: list[Rule] = []
