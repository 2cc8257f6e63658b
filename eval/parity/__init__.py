"""Is every number the same, whatever computes it?"""
