#!/usr/bin/env python3
"""Words and pieces of words of generated texts, computed by other programs: words and their vocabulary by Python's re
and Counter, pieces by the package `tokenizers` (WordPiece as in BERT).

    text_tokens.py > text_tokens.json

The texts are drawn with a fixed seed from stems, endings, numbers, punctuation, letters beyond ASCII, tabs, line ends
and a few control characters; words beyond ASCII are in lower case, because our tokenizer leaves them unchanged.
"""
import collections
import json
import random
import re

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

RNG = random.Random(20)
STEMS = ("the", "film", "act", "play", "un", "re", "view", "good", "bad", "don't", "end", "caf\u00e9", "na\u00efve",
         "stra\u00dfe", "\u0431\u0443\u043a\u0432\u0430", "\u6f22\u5b57", "co-op", "u.s.", "x" * 100, "y" * 101, "a_b")
ENDINGS = ("", "", "", "s", "ed", "ing", "able", "er", "ness")
MARKS = (".", ",", "!", "?", "...", "\"", "<br />", "(", ")", "$", "#tag", "[UNK]", "~", "`")
BLANKS = (" ", " ", " ", "  ", "\t", "\n", "\r\n")
TEXTS = 24
TRAINING = 16
VOCABULARY = 64


def one_text():
    text = ""
    for _ in range(RNG.randint(20, 60)):
        stem = RNG.choices(STEMS, [1 / (k + 1) for k in range(len(STEMS))])[0]
        word = stem + RNG.choice(ENDINGS)
        if word.isascii() and RNG.random() < 0.3:
            word = word.upper() if RNG.random() < 0.3 else word.capitalize()
        if RNG.random() < 0.02:
            word = word[:1] + "\x01" + word[1:]
        if RNG.random() < 0.2:
            word += RNG.choice(MARKS)
        text += word + (RNG.choice(BLANKS) if RNG.random() < 0.95 else str(RNG.randint(0, 999)))
    return text


def words_of(text):
    text = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", "", text)
    text = re.sub("[A-Z]", lambda letter: letter[0].lower(), text)
    return re.findall("[!-/:-@\\[-`{-~]|[^ \t\r\n!-/:-@\\[-`{-~]+", text)


def vocabulary_of(texts):
    counts = collections.Counter(word for text in texts for word in words_of(text) if len(word) <= 100)
    ranked = sorted(counts, key=lambda word: (-counts[word], word.encode()))
    return ["[PAD]", "[UNK]"] + ranked[:VOCABULARY - 2]


def pieces_of(texts):
    """Returns a vocabulary that does not contain all words as a whole, and the ids of the texts' pieces."""
    letters = sorted({letter for text in texts for word in words_of(text) for letter in word if letter not in "qz6"})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"] + letters + ["##" + letter for letter in letters if letter != "w"]
    vocabulary += ["the", "film", "act", "pl", "play", "un", "view", "re", "##view", "##s", "##ed", "##ing", "##ab",
                   "##able", "##ness", "good", "goo", "##od", "caf", "##\u00e9", "xx", "##xx", "##xxxx"]
    vocabulary = list(dict.fromkeys(vocabulary))
    tokenizer = Tokenizer(models.WordPiece({token: k for k, token in enumerate(vocabulary)}, unk_token="[UNK]",
                                           max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False,
                                                      lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return vocabulary, [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]


def main():
    texts = [one_text() for _ in range(TEXTS)]
    words = vocabulary_of(texts[:TRAINING])
    ids = {word: k for k, word in enumerate(words)}
    pieces, piece_ids = pieces_of(texts)
    print(json.dumps({
        "texts": texts, "training": TRAINING, "vocabulary": VOCABULARY, "words": words,
        "word_ids": [[ids.get(word, 1) for word in words_of(text)] for text in texts],
        "pieces": pieces, "piece_ids": piece_ids}, indent=0).replace(",\n", ", ").replace("], ", "],\n"))


if __name__ == "__main__":
    main()
