"""Logs through oslo.log: lines carry the request's ids, user and project, and secrets are masked."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from oslo_config import cfg
from oslo_context.context import RequestContext as OsloContext
from oslo_log import log
from oslo_utils import strutils

from pumice.kernel.auth.context import RequestContext

_CURRENT: ContextVar[RequestContext | None] = ContextVar("pumice_logged_context", default=None)
_SENSITIVE = re.compile(r"pass|token|secret|auth|key|://", re.IGNORECASE)
_URL_PASSWORD = re.compile(r"(://[^:/@\s]*:)[^@\s]+(?=@)")
_TOKEN_HEADER = re.compile(r"(X-(?:Auth|Service|Subject)-Token\W{1,4})[\w.-]+", re.IGNORECASE)


def setup(conf: cfg.ConfigOpts, name: str = "pumice") -> None:
    """Send this process's logs where `conf` says; `use_json` makes each line a JSON object.

    Logs belong to the process: where several services share one, the last call counts. Called again, it opens the
    files anew.

    :param name: of the file, where only `log_dir` is given
    """
    if conf.log_dir:
        conf.set_default("log_file", f"{name}.log")
    before = logging.getLogger().handlers[:]
    log.setup(conf, "pumice")
    for handler in before:
        if isinstance(handler, logging.FileHandler):
            handler.close()
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
            record.context = _OfOneLine(context)
        text = record.getMessage()
        if _SENSITIVE.search(text):
            record.msg, record.args = mask(text), None
        return True


def mask(text: str) -> str:
    """The text with `***` in the place of passwords, tokens and keys."""
    for secret in (_URL_PASSWORD, _TOKEN_HEADER):
        text = secret.sub(r"\1***", text)
    return strutils.mask_password(text)


class _OfOneLine(OsloContext):
    """A context as oslo.log's formatters ask for it."""

    def __init__(self, context: RequestContext) -> None:
        super().__init__(
            user_id=context.user_id,
            project_id=context.project_id,
            user_domain_id=context.user_domain_id,
            project_domain_id=context.project_domain_id,
            request_id=context.request_id,
            global_request_id=context.global_request_id,
        )

    def update_store(self) -> None:
        """Do not become the thread's context, as oslo.context has it: the thread's next line may be another's."""
