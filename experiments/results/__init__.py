"""The pages of results, printed from finished cells."""
