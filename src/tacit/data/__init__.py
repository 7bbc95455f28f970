"""What is declared, and how data is prepared."""
