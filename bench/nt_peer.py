"""What the scripts beside neural-tangents share: its environment, its layers, its arrays."""
import math
import os
import pathlib
import subprocess
import sys
import types
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENV = ROOT / "bench" / ".env-nt"
# The last release of neural-tangents does not import on newer JAX.
NEEDED = ["jax==0.4.35", "jaxlib==0.4.35", "numpy<2", "scipy<1.13", "frozendict"]
# Without its dependencies: they ask for TensorFlow, which only neural_tangents.experimental uses.
PEER = ["--no-deps", "neural-tangents==0.6.5"]


def enter_environment():
    """Continues in an interpreter that has neural-tangents."""
    python, finished = ENV / "bin" / "python", ENV / "finished"
    if not finished.exists():
        subprocess.run([sys.executable, "-m", "venv", ENV], check=True)
        for packages in [NEEDED, PEER]:
            subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        finished.touch()
    if pathlib.Path(sys.prefix).resolve() != ENV.resolve():
        os.execv(python, [str(python), *sys.argv])
    os.environ |= {"JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu"}
    sys.modules["neural_tangents.experimental"] = types.ModuleType("experimental")


enter_environment()

import jax  # noqa: E402
import numpy as np  # noqa: E402
from neural_tangents import stax  # noqa: E402

# FanIn layers warn that their inputs ought to be independent: ours are.
warnings.filterwarnings("ignore", message=".*FanIn")

ACTIVATIONS = {
    "identity": stax.Identity,
    "relu": stax.Relu,
    "gelu": stax.Gelu,  # its kernel is that of x Φ(x), by erf
    "erf": stax.Erf,
    "sin": stax.Sin,
    "abs": stax.Abs,
}


class Described:
    """An architecture file as a network of neural-tangents; `layer` is its (init_fn, apply_fn, kernel_fn)."""

    def __init__(self, file):
        self.file = file
        self.channels, *self.grid = file["input"]
        self.layer, _ = self.serial(file["layers"], (1, *self.grid, self.channels))

    def laid_out(self, x):
        """Samples as ours, N×C×H×W in any shape, with the channels last."""
        return np.moveaxis(np.reshape(x, (-1, self.channels, *self.grid)), 1, -1)

    def serial(self, layers, shape):
        """The layers one after the other, and the shape that they give."""
        built = [stax.Identity()]
        for layer in layers:
            built.append(self.described(layer, shape))
            shape, _ = built[-1][0](jax.random.PRNGKey(0), shape)
        return stax.serial(*built), shape

    def described(self, layer, shape):
        match layer["op"]:
            case "dense":
                return stax.Dense(layer["features"], **self.laws(layer, shape[-1]))
            case "conv" | "local" as op:
                build = {"conv": stax.Conv, "local": stax.ConvLocal}[op]
                kernel, stride = self.window(layer["kernel"]), self.window(layer.get("stride", 1))
                padding = named_padding(layer, kernel, stride)
                laws = self.laws(layer, math.prod(kernel) * shape[-1])
                # By default it takes an input for an image.
                axes = ("NWC", "WIO", "NWC") if len(self.grid) == 1 else None
                return build(layer["channels"], kernel, stride, padding, dimension_numbers=axes, **laws)
            case "avg-pool":
                size = self.window(layer["size"])
                stride = self.window(layer.get("stride", layer["size"]))
                return stax.AvgPool(size, stride, named_padding(layer, size, stride))
            case "global-avg-pool":
                return stax.GlobalAvgPool()
            case "flatten":
                return stax.Flatten()
            case "residual":
                branches = [layer["branch"], layer.get("skip", [])]
                return self.joined(branches, shape, stax.FanInSum())
            case "concat":
                return self.joined(layer["branches"], shape, stax.FanInConcat(-1))
            case "layer-norm" | "rms-norm" as op:
                # Pre-activations have no mean in the limit. Its norms have no γ and β.
                eps = layer.get("eps", {"layer-norm": 1e-5, "rms-norm": 1e-6}[op])
                return stax.LayerNorm(tuple(range(1, len(shape))), eps)
            case "leaky-relu":
                return stax.LeakyRelu(layer.get("slope", 0.01))
            case name:
                return ACTIVATIONS[name]()

    def joined(self, branches, shape, fan_in):
        parallel = stax.parallel(*(self.serial(branch, shape)[0] for branch in branches))
        return stax.serial(stax.FanOut(len(branches)), parallel, fan_in)

    def window(self, size):
        return (size,) * len(self.grid) if isinstance(size, int) else tuple(size)

    def laws(self, layer, fan_in):
        """Deviations; of a weight times the root of its fan-in, of a bias as it is."""
        match self.file["parametrisation"]:
            case "ntk":
                weight, bias, form = self.file.get("w_std", 1.0), self.file.get("b_std", 0.0), "ntk"
            case "pytorch":
                weight, bias, form = 3**-0.5, (3 * fan_in) ** -0.5, "standard"
            case "he":
                weight, bias, form = 2**0.5, 0.0, "standard"
        return {"W_std": weight, "b_std": bias if layer.get("bias", True) else None, "parameterization": form}


def named_padding(layer, size, stride):
    """neural-tangents has names only: a number must be one that `same` comes to."""
    padding = layer.get("padding", 0)
    if isinstance(padding, str):
        return padding.upper()
    if padding == 0:
        return "VALID"
    assert all(k == 2 * padding + 1 and s == 1 for k, s in zip(size, stride)), "this padding has no name"
    return "SAME"
