"""How good, how fast, how safe?"""
