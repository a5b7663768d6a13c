"""Measurements that compare ways to do the same thing."""
