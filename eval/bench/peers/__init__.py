"""How do other engines take their turns beside ours?"""
