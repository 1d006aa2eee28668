"""`python -m anedsl`."""

from anedsl.cli import main

main()
