"""Chapter 4, what is declared, and how data is prepared."""
