"""Which faults would leak, and are they found? (R6)"""
