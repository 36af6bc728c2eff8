"""Times and figures of symgen's C and of its peers, measured on this machine."""
