"""Both ends of an interval of a quantile in one draw. Proof in ../quantile.md."""
