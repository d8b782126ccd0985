"""`python -m juryrank`."""

from juryrank.cli import main

main()
