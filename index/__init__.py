"""Which visible rows match, and where do they live?"""
