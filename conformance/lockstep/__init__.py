"""A program on the law and on an executor, compared after every step."""
