"""Readers that verify the text of generated C; they know the grammar of C, not the printer."""
