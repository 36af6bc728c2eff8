"""Pipeline from a description and a request to Programs; start reading at `build.programs`."""
