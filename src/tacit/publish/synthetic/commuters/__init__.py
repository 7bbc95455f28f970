"""Synthetic maps of commuters: Dirichlet resampling and probabilistic differential privacy."""
