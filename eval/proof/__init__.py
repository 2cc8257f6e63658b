"""Does anything that a principal may not see change its answers, in a catalog of your own?"""
