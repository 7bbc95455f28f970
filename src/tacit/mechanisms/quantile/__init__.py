"""Quantiles by the exponential mechanism, alone or with an interval whose two ends are one draw. Proof in quantile.md."""
