"""The text of the C read back into rows. It knows the grammar of the C and nothing of what printed
it.
"""
