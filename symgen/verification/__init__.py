"""The checks between a Program and trust: kinds of answers that share as little as possible, each a step of `verify`.

`algebra`: the Program over balls against the reference. `text`: the emitted C, parsed back, is the Program. `floating`:
the compiled C against the exact answer in units of round-off. `identities`: the functions against each other. `blocks`: the
functions for many states against those for one. `subject` says what is verified, `run` holds what the steps share.
"""
