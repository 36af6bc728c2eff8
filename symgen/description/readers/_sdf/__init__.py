"""The parts of the SDF reader."""
