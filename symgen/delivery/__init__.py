"""A folder of C, whole or not at all, with what is known of it."""
