"""What stands between a Program and trust: four checks that share as little as possible, one a file.

`algebra`: the Program over balls against the reference. `text`: the emitted C, parsed back, is the Program. `floating`:
the compiled C against the exact answer in units of round-off. `identities`: the functions against each other.
"""
