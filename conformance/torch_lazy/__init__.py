"""PyTorch's own TorchScript lazy backend behind the adapter protocol; it is in any torch wheel."""
