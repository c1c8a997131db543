"""Whether a project exists, as the identity service says."""

from __future__ import annotations

import logging
import urllib.parse

from keystoneauth1 import adapter, loading, session
from keystoneauth1 import exceptions as ks_errors
from oslo_config import cfg

from pumice.kernel.auth.middleware import SECTION
from pumice.kernel.errors import NotFound, ServiceUnavailable

LOG = logging.getLogger(__name__)


def check_project(conf: cfg.ConfigOpts, project_id: str) -> None:
    """Ask Keystone, as the user of [keystone_authtoken]. Where that user may not look, the project is believed.

    :raises NotFound: there is no such project
    :raises ServiceUnavailable: Keystone does not answer
    """
    section = conf[SECTION]
    if not (section.auth_section or getattr(section, "auth_url", None)):
        return  # callers are not authenticated by Keystone, so it knows no projects
    asking = session.Session(
        auth=loading.load_auth_from_conf_options(conf, SECTION),
        verify=False if section.insecure else section.cafile or True,
        cert=(section.certfile, section.keyfile) if section.certfile else None,
        timeout=section.http_connect_timeout or 10,
    )
    keystone = adapter.Adapter(
        asking,
        service_type="identity",
        interface=section.interface,
        region_name=section.region_name,
        min_version="3",
        max_version="3.latest",
    )
    try:
        keystone.get(f"/projects/{urllib.parse.quote(project_id, safe='')}")
    except ks_errors.NotFound as error:
        raise NotFound(f"Project {project_id} could not be found.") from error
    except ks_errors.Forbidden:
        LOG.warning("the user of [%s] may not look up projects; %s is taken as it is", SECTION, project_id)
    except ks_errors.ClientException as error:
        raise ServiceUnavailable("The Identity service cannot be reached to look up the project.") from error
