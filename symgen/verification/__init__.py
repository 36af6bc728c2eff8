"""Checks of Programs and of the generated C, which share as little code as possible. Each kind is a
step of `verify`.

`algebra`: the Program over balls against the reference. `text`: the emitted C, parsed back, equals
the Program. `floating`: the compiled C against the exact result in units of round-off.
`identities`: the functions against each other. `blocks`: functions for blocks of states against
those for one state. `subject` defines what is verified, `run` holds what the steps share.
"""
