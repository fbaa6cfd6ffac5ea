"""`python -m membership_client` is the command `membership-client`."""

import sys

from membership_client.cli.program import main

sys.exit(main())
