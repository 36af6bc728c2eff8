"""The parts of the URDF reader."""
