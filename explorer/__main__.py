"""``python -m explorer``: the product without a browser."""

import sys

from explorer.cli.main import main

sys.exit(main(sys.argv[1:]))
