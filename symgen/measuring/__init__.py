"""Times and figures taken on this machine, of symgen's C and of its peers."""
