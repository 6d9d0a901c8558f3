#!/usr/bin/env python3
"""Compares a model that starts from weights in BERT's layout with PyTorch's forward pass.

    bert_start.py PROGRAM [--layers 3] [--width 48] [--heads 4]

Makes a BERT of random weights from torch.nn.TransformerEncoderLayer, an independent implementation: token,
position and segment embeddings with a norm, post-norm layers with erf GELU, a tanh pooler, a classifier. Writes
its weights under BERT's names as a safetensors file, and pairs of texts of several lengths as a token file.
`PROGRAM attention train --start-from ... --name-map bert` with a step that changes nothing (every parameter
frozen) and `evaluate --outputs` must give PyTorch's scores of all test samples to 1e-5 of the largest, once
with [CLS] as a token of the texts and once with it as the learned token in front of them. `attention map` must
give the last layer's attention of a head to 1e-5. Exit status 0 if all agree, 1 if something does not, 77
(skipped) without torch or h5py.
"""
import argparse
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import warnings

try:
    warnings.filterwarnings("ignore")
    import h5py
    import numpy as np
    import torch
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

VOCABULARY, POSITIONS, CLASSES, CLS, SEPARATOR = 300, 64, 5, 101, 102
TOLERANCE = 1e-5


class Bert(torch.nn.Module):
    def __init__(self, width, heads, layers):
        super().__init__()
        self.word = torch.nn.Embedding(VOCABULARY, width)
        self.position = torch.nn.Embedding(POSITIONS, width)
        self.segment = torch.nn.Embedding(2, width)
        self.norm = torch.nn.LayerNorm(width, eps=1e-12)
        self.layers = torch.nn.ModuleList(
            torch.nn.TransformerEncoderLayer(width, heads, 2 * width, dropout=0.0, activation="gelu",
                                             layer_norm_eps=1e-12, batch_first=True)
            for _ in range(layers))
        self.pooler = torch.nn.Linear(width, width)
        self.classifier = torch.nn.Linear(width, CLASSES)
        generator = torch.Generator().manual_seed(3)
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                mean = 1.0 if "norm" in name and name.endswith("weight") else 0.0
                parameter.copy_(mean + torch.randn(parameter.shape, generator=generator) * 0.15)

    def forward(self, tokens):
        """Scores of one text, and the attention of the last layer by head."""
        ends = torch.cumsum((tokens == SEPARATOR).long(), 0) - (tokens == SEPARATOR).long()
        x = self.norm(self.word(tokens) + self.position(torch.arange(len(tokens))) + self.segment(ends.clamp(max=1)))
        x = x[None]
        for layer in self.layers:
            attention = layer.self_attn(x, x, x, need_weights=True, average_attn_weights=False)[1][0]
            x = layer(x)
        return self.classifier(torch.tanh(self.pooler(x[0, 0]))), attention


def bert_tensors(model):
    """Returns the weights under BERT's names."""
    tensors = {
        "bert.embeddings.word_embeddings.weight": model.word.weight,
        "bert.embeddings.position_embeddings.weight": model.position.weight,
        "bert.embeddings.token_type_embeddings.weight": model.segment.weight,
        "classifier.weight": model.classifier.weight,
        "classifier.bias": model.classifier.bias,
    }

    def add(name, module):
        tensors[f"bert.{name}.weight"] = module.weight
        tensors[f"bert.{name}.bias"] = module.bias

    add("embeddings.LayerNorm", model.norm)
    add("pooler.dense", model.pooler)
    for number, layer in enumerate(model.layers):
        prefix = f"encoder.layer.{number}"
        weights = layer.self_attn.in_proj_weight.chunk(3)
        biases = layer.self_attn.in_proj_bias.chunk(3)
        for part, weight, bias in zip(("query", "key", "value"), weights, biases):
            tensors[f"bert.{prefix}.attention.self.{part}.weight"] = weight
            tensors[f"bert.{prefix}.attention.self.{part}.bias"] = bias
        add(f"{prefix}.attention.output.dense", layer.self_attn.out_proj)
        add(f"{prefix}.attention.output.LayerNorm", layer.norm1)
        add(f"{prefix}.intermediate.dense", layer.linear1)
        add(f"{prefix}.output.dense", layer.linear2)
        add(f"{prefix}.output.LayerNorm", layer.norm2)
    return {name: tensor.detach().contiguous() for name, tensor in tensors.items()}


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        values = np.asarray(tensor.tolist(), dtype="<f4")
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + values.nbytes]}
        data += values.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def texts(generator):
    """[CLS] a .. [SEP] b .. [SEP], as in BERT's pairs; token 0 is padding and occurs nowhere."""
    pairs = []
    for _ in range(12):
        first, second = (generator.integers(110, VOCABULARY, generator.integers(3, 20)) for _ in range(2))
        pairs.append(np.concatenate([[CLS], first, [SEPARATOR], second, [SEPARATOR]]))
    return pairs


def write_tokens(path, sequences):
    tokens = np.zeros((len(sequences), max(map(len, sequences))), "i4")
    for row, sequence in zip(tokens, sequences):
        row[:len(sequence)] = sequence
    with h5py.File(path, "w") as file:
        file.attrs["format"] = np.bytes_("matapprox tokens")
        file.attrs["format_version"] = 1
        file.attrs["vocabulary"] = VOCABULARY
        file.attrs["classes"] = CLASSES
        file.attrs["source"] = np.bytes_("bert_start.py")
        file.create_dataset("tokens", data=tokens)
        file.create_dataset("lengths", data=np.array([len(s) for s in sequences], "i4"))
        file.create_dataset("labels", data=np.arange(len(sequences), dtype="i4") % CLASSES)
        # The program also requires training and validation samples: two of each.
        file.create_dataset("split", data=np.array([2] * (len(sequences) - 4) + [0, 0, 1, 1], "i1"))


def largest_difference(rows, expected):
    """Returns the largest difference between a row and its nearest expected row, relative to the largest expected
    entry. Infinity unless each expected row is the nearest of some row."""
    distances = np.abs(rows[:, None, :] - expected[None, :, :]).max(axis=2)
    if len(set(distances.argmin(axis=1))) != len(expected):
        return np.inf
    return distances.min(axis=1).max() / np.abs(expected).max()


def run(*command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{result.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--width", type=int, default=48)
    parser.add_argument("--heads", type=int, default=4)
    options = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = Bert(options.width, options.heads, options.layers).double().eval()
    tensors = bert_tensors(model.float())
    model = model.double()
    sequences = texts(np.random.default_rng(5))
    with torch.no_grad():
        results = [model(torch.from_numpy(s.astype("i8"))) for s in sequences[:-4]]
    scores = np.array([result[0].tolist() for result in results])
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_safetensors(folder / "bert.safetensors", tensors)
        for kind, kept in (("a token of the texts", 0), ("the learned token", 1)):
            write_tokens(folder / "tokens.h5", [s[kept:] for s in sequences])
            run(options.program, "attention", "train", "--task", "token_file", "--path", folder / "tokens.h5",
                "--attention", "softmax", "--width", options.width, "--heads", options.heads, "--layers", options.layers,
                "--feed-forward", 2, "--norm-epsilon", 1e-12, "--positions", "learned", "--embedding-norm",
                "--segments", 2, "--segment-separator", SEPARATOR, "--pool", "cls", "--pooler",
                f"--cls-token={'true' if kept else 'false'}", "--start-from", folder / "bert.safetensors",
                "--name-map", "bert", "--freeze", "embedding,block,pooler,head", "--steps", 1, "--batch", 1,
                "--evaluation-samples", 1, "--test-samples", 1, "--force", "--quiet", "-o", folder / "model.h5")
            run(options.program, "attention", "evaluate", folder / "model.h5", "--outputs", folder / "scores.npy",
                "--force", "--quiet")
            difference = largest_difference(np.load(folder / "scores.npy"), scores)
            print(f"scores, [CLS] {kind}: {difference:.1e} of the largest")
            failures += not difference <= TOLERANCE
            run(options.program, "attention", "map", folder / "model.h5", "-o", folder / "map.npy", "--layer",
                options.layers - 1, "--head", 1, "--force", "--quiet")
            ours = np.load(folder / "map.npy")
            # The sample is one of the padded texts; only the rows and columns of its tokens are compared.
            nearest = min(np.abs(ours[:len(a), :len(a)] - a).max()
                          for a in (np.array(result[1][1].tolist()) for result in results))
            print(f"attention of the last layer, [CLS] {kind}: {nearest:.1e}")
            failures += not nearest <= TOLERANCE
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
