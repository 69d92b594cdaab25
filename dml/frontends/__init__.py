"""Other people's formats into graphs."""
