"""The restrictions of each process of the server, imposed by the kernel and asked for through `ctypes`.

limits.py      no new privileges, no core files, no capabilities, limits of memory and files, a user of its own
landlock.py    which files and ports can be reached, and whom a signal reaches
seccomp.py     which system calls exist
profiles.py    these three for the front, the clerk and an engine, as data
check.py       what of it holds on this machine, tried
"""
