"""Attacks on published graphs: names taken off, structure left in. Each finds people in the structure alone."""
