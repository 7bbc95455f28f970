"""anjana's processor time for k-anonymity on Adult: `python anjana_seconds.py FOLDER K COLUMN...` prints JSON.

It generalizes one column after the other until the table is k-anonymous: some node of the lattice, not the optimum.
"""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pandas as pd
from anjana.anonymity import k_anonymity

folder, k, quasi = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
table = pd.read_csv(folder / "adult.csv.gz", dtype=str, skipinitialspace=True)[quasi]
table = table[(table != "?").all(axis=1)].reset_index(drop=True)
hierarchies = {}
for name in quasi:
    levels = pd.read_csv(folder / "hierarchies" / f"{name}.csv", sep=";", header=None, dtype=str).drop_duplicates(0).set_index(0)
    hierarchies[name] = {0: table[name].to_numpy()}
    hierarchies[name] |= {level: table[name].map(levels[level]).to_numpy() for level in levels.columns}
start = time.process_time()
made = k_anonymity(table, [], quasi, k, 0, hierarchies)
seconds = time.process_time() - start
smallest = int(made.groupby(quasi).size().min()) if len(made) else 0
print(json.dumps({"anjana": version("anjana"), "seconds": seconds, "rows": len(made), "smallest": smallest}))
