"""How does text become tensors and tokens?"""
