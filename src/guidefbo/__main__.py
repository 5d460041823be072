"""`python -m guidefbo` is `guidefbo`."""

from guidefbo.cli.app import main

main()
