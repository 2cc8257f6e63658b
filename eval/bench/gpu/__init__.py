"""How fast is it on a GPU, and how much of what the GPU can do is that?"""
