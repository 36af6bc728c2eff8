"""Target languages and wrappers, one file each, found by their presence in this folder."""
