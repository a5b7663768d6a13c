"""Several threads of a program on one executor: every order in which they can go on."""
