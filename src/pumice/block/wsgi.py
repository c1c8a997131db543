"""The Block Storage API for any WSGI server: `uwsgi --module pumice.block.wsgi:application …`.

It reads /etc/pumice/block.conf, or the files that the environment variable PUMICE_CONFIG_FILE names.
"""

from pumice.block.service import BlockService
from pumice.kernel import wsgi

application = wsgi.application("block", BlockService)
