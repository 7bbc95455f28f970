"""`python -m tacit` is `tacit`."""

from tacit.doors.cli import main

if __name__ == "__main__":
    main()
