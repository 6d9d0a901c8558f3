#!/usr/bin/env python3
"""Checks that code, help and documents call things as the field does.

    names.py [PROJECT]

The words below once stood for these things here; a reader should find with the first search what books
and other libraries call so. Prints each place where one is left. Exit status 0 if there is none.
"""
import re
import sys
from pathlib import Path

EVERYWHERE = ""
CODE = "^(include|src|apps|tests)/"
ATTENTION = ("^(include/matapprox/attention|src/attention|"
             "apps/matapprox_attention|configs|docs/(attention|tasks))")

# Pattern, paths where it is looked for, whether only in code (not in comments and strings), what to write.
OLD_NAMES = [
    (r"\b(card|cards|processor|processors)\b", EVERYWHERE, False, "device, GPU; CPU"),
    (r"\b(Place|BlockPlace|ParameterPlace|host_place|block_place)\b", CODE, True, "MemorySpace, host_space; or what it is the place of"),
    (r"\b(TallBlock|TallColumns|ConstTallColumns)\b", EVERYWHERE, False, "MultiVector and its views"),
    (r"\bk(Most|Least)[A-Z]\w*", EVERYWHERE, False, "kMax, kMin"),
    (r"\b(most|least)_(links|threads|pieces|columns|lanes|rows|guards|late|share|width|rank|ridge)\b", CODE, True, "max_, min_"),
    (r"\b(Turn|Quiet)\b", CODE, True, "Lock, ErrorSilencer"),
    (r"\brehears(e|ed|es|ing)\b", EVERYWHERE, False, "sandboxed read"),
    (r"\b(OnLine|falls_enough|is_flat_enough)\b", EVERYWHERE, False, "LineSearchPoint, armijo_holds, curvature_holds"),
    (r"\bbend\b", CODE, True, "curvature"),
    (r"\b(choosing|stating|state) columns\b|\b(choosing|stating)\(\)|\b[Hh]eld[- _]?[Oo]ut\b", EVERYWHERE, False, "validation columns, test columns"),
    (r"\b(CardLinks|ChainLink)\b", EVERYWHERE, False, "factors of a device"),
    (r"\b(Left|Stopped|EndAsked)\b", "^(include|src)/", True, "Cancelled"),
    (r"\blooks?(?! (like|up|for|after|at what))\b", ATTENTION, False, "validation, validations"),
    (r"\b(Floors?|floors)\b", "^(include|src/attention/(tasks|training)|apps|docs|README)", False, "baseline, baselines"),
    (r"\bcontrols\b|attention/controls", ATTENTION, False, "baselines"),
    (r"\bCall\b", ATTENTION, True, "LayerContext"),
    (r"\b(carried_scores|carried scores|carry_scores|--carry-scores|CarriedScores)\b", ATTENTION, False, "residual scores"),
    (r"\bLaw\b", CODE, True, "Distribution"),
    (r"\bposition_waves\b", EVERYWHERE, False, "sinusoidal encoding"),
    (r"--control\b", "^(docs|configs|scripts|apps|README)", False, "--tokenwise-baseline"),
    (r"embedding[_-]deviation", ATTENTION, False, "init_std"),
    (r"\bkept[ _]rows?\b|\bkeep_row\b", EVERYWHERE, False, "cached row"),
    (r"[Pp]icture", EVERYWHERE, False, "image"),
    (r"\b(?<!contact[ _])(?<!contact\n/// )(?<!style )sheets?\b|(?<!contact)_sheet\b", "^apps/re", False, "contact sheet"),
    (r"\b(Helpers|ScratchLoan)\b", CODE, True, "ThreadPool, ScratchBuffer"),
    (r"\bmend(s|ed|ing)?\b", EVERYWHERE, False, "repair"),
    (r"\b(Owner|Local|Shared|Body|Make)\b", CODE, True, "what it holds"),
]

# Raw strings, comments, strings and characters of C++.
NOT_CODE = re.compile(r'R"\(.*?\)"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
TEXT = re.compile(r"\.(cpp|hpp|cu|py|md|toml|cmake|txt|in|sh)$|^(scripts|share)/")
CPP = {".cpp", ".hpp", ".cu"}
FOLDERS = ["include", "src", "apps", "tests", "docs", "configs", "scripts", "share", "cmake"]


def project_files(root):
    found = [root / "README.md"]
    for folder in FOLDERS:
        found += [path for path in sorted((root / folder).rglob("*")) if path.is_file() and path.suffix != ".pyc"]
    for path in found:
        name = path.relative_to(root).as_posix()
        if TEXT.search(name) and path.resolve() != Path(__file__).resolve():
            yield path, name


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    rules = [(re.compile(pattern), re.compile(where), code_only, instead)
             for pattern, where, code_only, instead in OLD_NAMES]
    files = found = 0
    for path, name in project_files(root):
        files += 1
        text = path.read_text(encoding="utf-8")
        # The same number of lines without what is no code.
        code = NOT_CODE.sub(lambda m: "\n" * m.group().count("\n"), text) if path.suffix in CPP else None
        for pattern, where, code_only, instead in rules:
            searched = code if code_only else text
            if searched is None or not where.search(name):
                continue
            for match in pattern.finditer(searched):
                line = 1 + searched.count("\n", 0, match.start())
                print(f"{name}:{line}: '{match.group()}': write {instead}")
                found += 1
    print(f"{files} files, {found} old names")
    return 1 if found or files < 900 else 0


if __name__ == "__main__":
    sys.exit(main())
