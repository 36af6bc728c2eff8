"""A folder of C, written whole or not at all, with what is known of it."""
