"""Source files that must be refused, each with the place where."""
