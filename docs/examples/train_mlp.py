"""A small network, trained for 50 steps on torch_xla: something to record.

markstep record -- python docs/examples/train_mlp.py
"""

import os
import time

os.environ.setdefault("PJRT_DEVICE", "CPU")
import torch
import torch_xla

STEPS = 50

torch.manual_seed(0)
device = torch_xla.device()
model = torch.nn.Sequential(
    torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(64, 10)
).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
loss_of = torch.nn.CrossEntropyLoss()
data = torch.randn(STEPS, 16, 32)
labels = torch.randint(0, 10, (STEPS, 16))

seconds = []
for step in range(STEPS):
    begin = time.perf_counter()
    x, y = data[step].to(device), labels[step].to(device)
    optimizer.zero_grad()
    loss = loss_of(model(x), y)
    loss.backward()
    optimizer.step()
    torch_xla.sync(wait=True)
    seconds.append(time.perf_counter() - begin)
    if step % 10 == 9:
        print(f"step {step + 1}: loss {loss.item():.4f}")
print(f"{sorted(seconds)[STEPS // 2] * 1000:.2f} ms per step")
