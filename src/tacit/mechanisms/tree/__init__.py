"""Several quantiles of the same rows from one tree of noisy counts. Proof in tree.md."""
