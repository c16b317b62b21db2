"""What the benchmarks beside PyTorch share: its environment, its networks, our process."""
import importlib.util
import os
import pathlib
import subprocess
import sys

from ours import ROOT, Native  # noqa: F401

ENV = ROOT / "bench" / ".env-torch"


def enter_environment():
    """Continues in an interpreter that has PyTorch: this one, if it does."""
    if importlib.util.find_spec("torch"):
        return
    python = ENV / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", ENV], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "torch", "numpy", "safetensors"], check=True)
    if pathlib.Path(sys.prefix).resolve() != ENV.resolve():
        os.execv(python, [str(python), *sys.argv])


enter_environment()

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402


class LeNet(nn.Module):
    def __init__(self, channels, outputs):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(channels, 6, 5), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, outputs)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x.flatten(1))))))


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride, activation):
        super().__init__()
        self.activation = activation
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.bn2(self.conv2(self.activation(self.bn1(self.conv1(x)))))
        return self.activation(y + self.shortcut(x))


class ResNet18(nn.Module):
    def __init__(self, outputs=10, channels=3, activation=F.relu):
        super().__init__()
        self.activation = activation
        self.conv1, self.bn1 = nn.Conv2d(channels, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64)
        inputs = 64
        for stage, width in enumerate([64, 128, 256, 512], 1):
            strides = [1 if stage == 1 else 2, 1]
            blocks = [Block(i, width, s, activation) for i, s in zip([inputs, width], strides)]
            setattr(self, f"layer{stage}", nn.Sequential(*blocks))
            inputs = width
        self.linear = nn.Linear(512, outputs)

    def forward(self, x):
        x = self.activation(self.bn1(self.conv1(x)))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.linear(F.avg_pool2d(x, 4).flatten(1))
