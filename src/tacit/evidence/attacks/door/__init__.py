"""Attacks through the door of a server, with what an analyst sees there beside the answers."""
