"""What an MJCF says, one idea a file; `readers/mjcf.py` makes links and joints of it."""
