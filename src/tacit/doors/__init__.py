"""Chapter 8, who knocks."""
