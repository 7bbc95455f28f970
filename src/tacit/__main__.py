"""`python -m tacit` is `tacit`."""

from tacit.doors.cli import main

main()
