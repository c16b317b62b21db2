"""The networks of the kernels that are timed, and their samples."""

# Hidden layers, side of the image, samples on both sides (one number: among themselves).
CASES = {
    "fcn": (3, 32, (2000,)),
    "vec2-16": (2, 16, (256, 256)),
    "vec5-32": (5, 32, (96, 96)),
    "gap2-16": (2, 16, (16, 16)),
    "gap5-32": (5, 32, (2, 8)),
}


def architecture(readout, depth, side):
    """The architecture file of a case: `readout` is fcn, vec or gap."""
    convolution = '{ op = "conv", channels = 64, kernel = 3, padding = "circular", bias = false }'
    dense = '{ op = "dense", features = %d, bias = false }'
    hidden = dense % 64 if readout == "fcn" else convolution
    front = {"fcn": ['{ op = "flatten" }'], "vec": [], "gap": []}[readout]
    back = {"fcn": [], "vec": ['{ op = "flatten" }'], "gap": ['{ op = "global-avg-pool" }']}[readout]
    layers = [*front, *[hidden, '{ op = "relu" }'] * depth, *back, dense % 1]
    lines = [f"input = [3, {side}, {side}]", 'parametrisation = "ntk"', f"w_std = {2**0.5!r}", "layers = ["]
    return "\n".join([*lines, *(f"  {layer}," for layer in layers), "]", ""])
