"""A description and a request in, Programs out; begin with `making.programs`."""
