"""Entries for every link of a chain of like links: M[i,j] as a formula in i, j and the number of
links n.

The canonical forms of all blocks are computed for short chains of the same links. A term is a
cosine or sine of sums of consecutive angles, such as q[k:l] = q_k + … + q_l, and perhaps a product
of symbols such as v_k. Terms of one kind differ in these indices only. For each kind, `search`
looks for ranges of at most two indices, with ends such as j or n − 1. It also looks for a
coefficient that is a polynomial of degree two at most in all indices. Formulas that hold for all
short chains are compared with every block of a longer one. Rates and accelerations are replaced by
their `partial_sums` if that leaves fewer terms.

For planar chains, `planar` states some letters with any number of links as sums with symbolic
ranges. `proof` compares them with the formulas for every n.
"""
