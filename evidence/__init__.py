"""What may be said, under which name, at what size?"""
