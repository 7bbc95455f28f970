"""Noise scaled to smooth sensitivity: the bound, the noise that fits it, and estimates released with it. Proof in smooth.md."""
