"""``python -m ldpfrontier.survey`` is the command ``ldp-frontier``."""

import sys

from ldpfrontier.survey.cli import main

if __name__ == "__main__":
    sys.exit(main())
