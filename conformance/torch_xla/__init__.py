"""The real torch_xla behind the adapter protocol; needs the extra `markstep[torch-xla]`."""
