"""Secure noise: the door to entropy, exact discrete samplers, heavy tails, and the public grid."""
