#!/usr/bin/env python3
"""Checks areas under ROC curves and the import of words against scikit-learn and Python, on random cases. Run by hand.

    attention_references.py PROGRAM [--cases 1000] [--torch-python FILE]

Areas under ROC curves: token files have short sequences of few ids, so that many scores are equal, and randomly drawn
sets of labels. A model with its initial parameters scores them. For each label `evaluate` must give the area that
scikit-learn's roc_auc_score computes from the output of `evaluate --outputs`, to 1e-12. Files with two classes are
checked in the same way.

Words: `data import csv --tokens words` of random texts (punctuation, control characters, letters beyond ASCII, words of more
than 100 characters) must give the vocabulary and the ids that Python's re and Counter give, for vocabularies of several
sizes and truncated texts.

With --torch-python, a Python with torch, numpy and h5py, bert_start.py runs with it: it compares a model that starts from
weights in BERT's layout with PyTorch's forward pass to 1e-5, for three sizes.

Exit status 0 if all agree, 1 if something does not, 77 (skipped) without numpy, h5py or scikit-learn.
"""
import argparse
import collections
import csv
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy as np
    import sklearn
    from sklearn.metrics import roc_auc_score
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

LABELS = 50  # number of labels of a token file
TOLERANCE = 1e-12


def run(*command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{result.stderr}")
    return result.stdout


# Areas under ROC curves


def drawn_file(rng, path, labels):
    """Writes a token file whose test rows are single ids; each id t has a different number of rows. Returns the ids and
    targets of those rows."""
    ids = int(rng.integers(2, 9))
    counts = rng.choice(np.arange(2, 40), ids, replace=False)
    tests = np.repeat(np.arange(ids), counts)
    share = rng.uniform(0.05, 0.95, (ids, labels))  # labels depend on the id, hence on the score
    targets = (rng.random((len(tests), labels)) < share[tests]).astype("u1")
    # A label of all rows or of none has no area.
    targets[0, :], targets[-1, :] = 0, 1
    rows = np.concatenate([tests, [0, 1, 0, 1]]).astype("i4")
    with h5py.File(path, "w") as file:
        file.attrs["format"] = np.bytes_("matapprox tokens")
        file.attrs["vocabulary"] = ids
        file.attrs["source"] = np.bytes_("attention_references.py")
        file.create_dataset("tokens", data=rows[:, None])
        file.create_dataset("lengths", data=np.ones(len(rows), "i4"))
        file.create_dataset("split", data=np.array([2] * len(tests) + [0, 0, 1, 1], "i1"))
        if labels > 1:
            file.attrs["format_version"] = 2
            file.attrs["classes"] = labels
            spare = np.tile(np.array([[0], [1]], "u1"), (2, labels))
            file.create_dataset("targets", data=np.concatenate([targets, spare]))
        else:
            file.attrs["format_version"] = 1
            file.attrs["classes"] = 2
            file.create_dataset("labels", data=np.concatenate([targets[:, 0], [0, 1, 0, 1]]).astype("i4"))
    return tests, targets


def scores_by_row(outputs, tests):
    """Returns the scores of each test row. The order within the split differs, so ids are identified by their number of
    rows."""
    values, counts = np.unique(outputs, axis=0, return_counts=True)
    of_count = {int(count): value for value, count in zip(values, counts)}
    ids, in_file = np.unique(tests, return_counts=True)
    of_id = {int(i): of_count[int(count)] for i, count in zip(ids, in_file)}
    return np.array([of_id[int(i)] for i in tests])


def areas(program, folder, rng, labels, seed):
    """Returns the areas of `evaluate` and of scikit-learn by label, and the fraction of pairs with equal scores."""
    tokens, model, outputs = folder / "tokens.h5", folder / "model.h5", folder / "outputs.npy"
    tests, targets = drawn_file(rng, tokens, labels)
    run(program, "attention", "train", "--task", "token_file", "--path", tokens, "--attention", "tokenwise", "--width", 8,
        "--heads", 1, "--pool", "mean", "--steps", 1, "--learning-rate", 1e-9, "--batch", 1, "--evaluation-samples", 1,
        "--test-samples", 1, "--seed", seed, "--force", "--quiet", "-o", model)
    document = json.loads(run(program, "attention", "evaluate", model, "--outputs", outputs, "--json", "-", "--force"))
    found = np.load(outputs)
    scores = scores_by_row(found, tests)
    if labels == 1:
        scores = (scores[:, 1] - scores[:, 0])[:, None]
        ours = [document["result"]["roc_auc"]]
    else:
        ours = [each["roc_auc"] for each in document["result"]["labels"]]
    theirs = [roc_auc_score(targets[:, c], scores[:, c]) for c in range(labels)]
    equal = np.mean([np.mean(scores[:, c][:, None] == scores[:, c][None, :]) for c in range(labels)])
    return ours, theirs, equal


def check_areas(program, folder, cases):
    rng = np.random.default_rng(20)
    failures = 0
    for title, labels, files in (("labels of sets", LABELS, (cases + LABELS - 1) // LABELS), ("two classes", 1, 40)):
        ours, theirs, equal = [], [], []
        for seed in range(1, files + 1):
            own, other, share = areas(program, folder, rng, labels, seed)
            ours += own
            theirs += other
            equal.append(share)
        largest = np.abs(np.array(ours) - np.array(theirs)).max()
        print(f"areas under ROC curves, {title}: {len(ours)} cases, {np.mean(equal):.0%} of the pairs equal, areas "
              f"{min(theirs):.3f} .. {max(theirs):.3f}; largest difference from scikit-learn {sklearn.__version__} {largest:.1e}")
        failures += not largest <= TOLERANCE
    return failures


# Words


STEMS = ("the", "film", "act", "play", "re", "view", "good", "bad", "don't", "caf\u00e9", "stra\u00dfe", "\u0431\u0443\u043a", "\u6f22\u5b57",
         "co-op", "u.s.", "x" * 100, "y" * 101, "a_b", "[UNK]", "[PAD]", "don", "\u0416", "4.2", "\u00a0")
MARKS = (".", ",", "!", "...", "\"", "<br />", "(", ")", "$", "#", "~", "`", "\\", "'")
BLANKS = (" ", " ", " ", "  ", "\t", "\n", " \r\n ")


def random_text(rng):
    text = "first "
    for _ in range(rng.randint(1, 60)):
        word = rng.choices(STEMS, [1 / (k + 1) for k in range(len(STEMS))])[0] + rng.choice(("", "", "s", "ed", "ing"))
        if word.isascii() and rng.random() < 0.3:
            word = word.upper() if rng.random() < 0.3 else word.capitalize()
        if rng.random() < 0.03:
            word = word[:1] + rng.choice("\x01\x08\x0b\x0c\x7f") + word[1:]
        if rng.random() < 0.3:
            word += rng.choice(MARKS)
        text += word + rng.choice(BLANKS)
    return text


def words_of(text):
    text = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", "", text)
    text = re.sub("[A-Z]", lambda letter: letter[0].lower(), text)
    return re.findall("[!-/:-@\\[-`{-~]|[^ \t\r\n!-/:-@\\[-`{-~]+", text)


def vocabulary_of(texts, size):
    counts = collections.Counter(word for text in texts for word in words_of(text) if len(word) <= 100)
    return ["[PAD]", "[UNK]"] + sorted(counts, key=lambda word: (-counts[word], word.encode()))[:size - 2]


def write_texts(path, texts):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(["text", "label"])
        writer.writerows([text, f"class{number % 3}"] for number, text in enumerate(texts))


def check_words(program, folder):
    rng = random.Random(20)
    sets = tokens = wrong = 0
    for number in range(20):
        training, test = ([random_text(rng) for _ in range(count)] for count in (rng.randint(3, 60), rng.randint(3, 20)))
        data = folder / f"texts{number}"
        data.mkdir()
        write_texts(data / "train.csv", training)
        write_texts(data / "test.csv", test)
        for size in (4, 10, rng.randint(11, 60), 100000):
            longest = rng.choice((0, 0, 5, 30))
            run(program, "attention", "data", "import", "csv", data, "--tokens", "words", "--vocabulary", size, "--max-length",
                longest, "-o", folder / "words.h5", "--force")
            with h5py.File(folder / "words.h5") as file:
                names = file["token_names"][()].decode().split("\n")
                rows = {0: [], 2: []}  # texts of the training and of the test split
                for row, length, split in zip(file["tokens"][()], file["lengths"][()], file["split"][()]):
                    rows[int(split)].append(row[:length].tolist())
            names = names[:-1] if names[-1] == "" else names
            vocabulary = vocabulary_of(training, size)
            ids = {word: k for k, word in enumerate(vocabulary)}
            expected = {split: [[ids.get(word, 1) for word in words_of(text)][:longest or None] for text in texts]
                        for split, texts in ((0, training), (2, test))}
            sets += 1
            tokens += sum(len(row) for texts in expected.values() for row in texts)
            wrong += names != vocabulary or rows != expected
    print(f"words: {sets} sets with {tokens} tokens, {wrong} of the sets unlike Python's")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--torch-python")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        failures = check_areas(options.program, pathlib.Path(name), options.cases)
        failures += check_words(options.program, pathlib.Path(name))
    if options.torch_python:
        for sizes in ((3, 48, 4), (1, 16, 2), (6, 64, 8)):
            done = subprocess.run([options.torch_python, pathlib.Path(__file__).with_name("bert_start.py"), options.program, "--layers",
                                   str(sizes[0]), "--width", str(sizes[1]), "--heads", str(sizes[2])], text=True,
                                  stdout=subprocess.PIPE, check=False)
            print(f"BERT of {sizes[0]} layers, width {sizes[1]}, {sizes[2]} heads against PyTorch\n{done.stdout}", end="")
            failures += done.returncode != 0
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
