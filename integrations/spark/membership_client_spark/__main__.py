"""`python -m membership_client_spark` is the command `membership-client-spark`."""

import sys

from membership_client_spark.cli import main

sys.exit(main())
