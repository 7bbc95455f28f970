"""Social networks: anonymized graphs, which give no differential privacy, and releases about graphs that do."""
