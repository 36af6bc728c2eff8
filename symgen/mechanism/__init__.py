"""The robot as data: bodies, joints, closed loops, drives, mimic joints, and the notes of its
reader.
"""
