"""Names that all rooms share: functions and their arrays, derivatives, options, reals, poses,
contacts.
"""
