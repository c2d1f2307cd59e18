"""``python -m daskgraphpart``."""

from daskgraphpart.cli.main import main

main()
