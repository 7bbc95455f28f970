"""Synthetic data with a stated guarantee: a map of commuters by Dirichlet resampling, and any table by noisy marginals.

The map
    flows.py        origins, destinations and jobs, from CSV or Parquet        geography.py   blocks, coarsening, distances
    keeping.py      chances of empty blocks, from public data                  commuters.py   the run over all destinations
    spending.py     the ledger: the catalog's, or one beside the output        outputs.py     the table and its receipt
    utility.py      how good a map is, for its curator                         report.py      the curator's page
    states.py       a state made up, to try all of it on
"""
