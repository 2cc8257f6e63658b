"""Does anything that a caller may not see change one byte of what the caller gets? (R6, R7, R10, R11, R31)"""
