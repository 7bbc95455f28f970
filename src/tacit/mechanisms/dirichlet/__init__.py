"""Dirichlet resampling of a map: the urn, its calibration, and empty blocks that are left out. Proof in dirichlet.md."""
