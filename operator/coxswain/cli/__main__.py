"""`python -m coxswain.cli` is `cox`, where no script is installed."""

from coxswain.cli.app import main

main()
