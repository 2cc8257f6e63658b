"""How fast is it, side by side with its peers?"""
