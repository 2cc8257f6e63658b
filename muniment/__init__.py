"""What can an operator do from a terminal?"""
