"""Recording a PyTorch program as it runs on torch_xla, and what the recording shows."""
