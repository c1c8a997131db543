"""Logs through oslo.log: lines carry the request's ids, user and project, and secrets are masked."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from oslo_config import cfg
from oslo_log import log
from oslo_utils import strutils

from pumice.kernel.auth.context import RequestContext

_CURRENT: ContextVar[RequestContext | None] = ContextVar("pumice_logged_context", default=None)
_SENSITIVE = re.compile(r"pass|token|secret|auth|key|://", re.IGNORECASE)
_URL_PASSWORD = re.compile(r"(://[^:/@\s]*:)[^@\s]+@")


def setup(conf: cfg.ConfigOpts, product: str = "pumice") -> None:
    """Send this process's logs where `conf` says; `use_json` makes each line a JSON object.

    Logs belong to the process: where several services share one, the last call counts.
    """
    log.setup(conf, product)
    enrich = Enrich()
    for handler in logging.getLogger().handlers:
        handler.addFilter(enrich)


@contextmanager
def logged(context: RequestContext) -> Iterator[None]:
    """Lines that this thread logs inside belong to `context`."""
    token = _CURRENT.set(context)
    try:
        yield
    finally:
        _CURRENT.reset(token)


class Enrich(logging.Filter):
    """Gives a record the context of the thread that logs it, and masks what looks like a secret in its text."""

    def filter(self, record: logging.LogRecord) -> bool:
        context = _CURRENT.get()
        if context is not None and not hasattr(record, "context"):
            record.context = _Logged(context)
        text = record.getMessage()
        if _SENSITIVE.search(text):
            record.msg, record.args = mask(text), None
        return True


def mask(text: str) -> str:
    """The text with `***` in the place of passwords, tokens and keys."""
    masked: str = strutils.mask_password(_URL_PASSWORD.sub(r"\1***@", text))
    return masked


class _Logged:
    """A context as oslo.log's formatters ask for it."""

    def __init__(self, context: RequestContext) -> None:
        self._context = context

    def get_logging_values(self) -> dict[str, Any]:
        context = self._context
        identity = " ".join(part or "-" for part in (context.user_id, context.project_id))
        return {
            "request_id": context.request_id,
            "global_request_id": context.global_request_id,
            "user_identity": identity,
            "user": context.user_id,
            "project": context.project_id,
        }
