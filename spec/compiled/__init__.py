"""The step as straight-line code on packed integers, generated from the text of the rules."""
