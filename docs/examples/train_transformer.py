"""A small transformer that learns to copy, trained for 50 steps on torch_xla: something to record.

markstep record -- python docs/examples/train_transformer.py
"""

import os
import time

os.environ.setdefault("PJRT_DEVICE", "CPU")
import torch
import torch_xla

STEPS, WORDS, LENGTH, WIDTH = 50, 50, 24, 64

torch.manual_seed(0)
device = torch_xla.device()


class Copier(torch.nn.Module):
    """Two layers of self-attention between an embedding and its inverse."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(WORDS, WIDTH)
        self.places = torch.nn.Embedding(LENGTH, WIDTH)
        layer = torch.nn.TransformerEncoderLayer(WIDTH, 4, 128, dropout=0.1, batch_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = torch.nn.Linear(WIDTH, WORDS)

    def forward(self, given: torch.Tensor, where: torch.Tensor) -> torch.Tensor:
        return self.out(self.layers(self.words(given) + self.places(where)))


model = Copier().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
texts = torch.randint(0, WORDS, (STEPS, 8, LENGTH))
where = torch.arange(LENGTH)

seconds = []
for step in range(STEPS):
    begin = time.perf_counter()
    given = texts[step].to(device)
    optimizer.zero_grad()
    guessed = model(given, where.to(device))
    loss = torch.nn.functional.cross_entropy(guessed.reshape(-1, WORDS), given.reshape(-1))
    loss.backward()
    optimizer.step()
    torch_xla.sync(wait=True)
    seconds.append(time.perf_counter() - begin)
    if step % 10 == 9:
        print(f"step {step + 1}: loss {loss.item():.4f}")
print(f"{sorted(seconds)[STEPS // 2] * 1000:.2f} ms per step")
