"""`python -m membership_client` is the command `membership-client`."""

import sys

from membership_client.cli import main

sys.exit(main())
