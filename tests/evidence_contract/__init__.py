"""Does a whole packet keep its promises, scenario by scenario?"""
