"""The C in a compiler, a library or a controller: building, calling, running, measuring its size."""
