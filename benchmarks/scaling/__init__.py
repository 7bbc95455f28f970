"""The parts of `scale.py`: what is measured, where it is kept, and how it is shown."""
