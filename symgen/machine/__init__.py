"""What a compiler, a library or a controller makes of the C: building, calling, running, weighing."""
