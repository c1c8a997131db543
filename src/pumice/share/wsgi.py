"""The Shared File Systems API for any WSGI server: `uwsgi --module pumice.share.wsgi:application …`.

It reads /etc/pumice/share.conf, or the files that the environment variable PUMICE_CONFIG_FILE names.
"""

from pumice.kernel import wsgi
from pumice.share.service import ShareService

application = wsgi.application("share", ShareService)
