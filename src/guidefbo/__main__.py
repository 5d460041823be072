"""`python -m guidefbo` is `guidefbo`."""

from guidefbo.cli.app import main

if __name__ == "__main__":
    main()
