"""A paid question in another process: frames on a pipe, the process that answers, and the ones that ask, alone or from a pool."""
