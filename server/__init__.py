"""How is one request answered, and how does it arrive?"""
