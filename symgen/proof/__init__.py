"""What can be proved of the C."""
