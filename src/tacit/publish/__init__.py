"""Chapter 6: other ways to publish; each folder can be read alone, with sqlite_file.py where one keeps a file."""
