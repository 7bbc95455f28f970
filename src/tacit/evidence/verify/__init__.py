"""Lower bounds on the real epsilon, coverage of intervals, and the contract that every mechanism obeys."""
