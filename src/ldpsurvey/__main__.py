"""``python -m ldpsurvey`` is the command ``ldp-frontier``."""

import sys

from ldpsurvey.command.cli import main

if __name__ == "__main__":
    sys.exit(main())
