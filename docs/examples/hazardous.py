"""A program that does everything that `markstep record` warns of.

markstep record -- python docs/examples/hazardous.py
"""

import os

os.environ.setdefault("PJRT_DEVICE", "CPU")
import torch
import torch_xla

X = torch_xla._XLAC
device = torch_xla.device()
mask = torch.ones(4, 4)
w = torch.randn(4, 4).to(device)
torch_xla.sync()

snapshot = w.detach().clone()
print("norm of the snapshot", snapshot.cpu().norm())  # the clone now shares the buffer of w
for _ in range(5):
    x = torch.randn(4, 4).to(device)
    y = (x * mask.to(device)) @ w  # the mask goes to the device in every step
    w.add_(y, alpha=0.1)
    torch_xla.sync()  # in the first step: the buffer of w is donated
try:
    print("norm of the snapshot", snapshot.cpu().norm())
except RuntimeError as error:
    print("the snapshot is lost:", str(error).splitlines()[0])

for step in range(4):
    scaled = w * step  # 0 and 1 are inlined, other numbers are parameters
    torch_xla.sync()

for _ in range(4):
    print("random", torch.rand(2, device=device).cpu())  # each continues the chain of seeds

product = w @ w
X._xla_warm_up_cache([product], [])
print("product", product.cpu().norm())  # compiles again: the key of the warm-up is another
