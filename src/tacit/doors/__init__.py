"""Chapter 9, who knocks."""
