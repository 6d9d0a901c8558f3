"""Code shared by all figures: the stored JSON, its provenance, and the format of numbers and tables."""
import datetime
import functools
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
KEPT = ROOT / "docs/figures"
# The sources that determine a figure: uncommitted changes there are noted with its commit.
SOURCES = ["CMakeLists.txt", "CMakePresets.json", "apps", "cmake", "configs", "include", "matrices", "src"]


class Missing(Exception):
    """Raised if something that a recipe needs is missing on this machine."""


@dataclass
class Figure:
    """A figure, stored in docs/figures/NAME.json and shown in the documents between <!-- figures:VIEW --> and <!-- figures -->."""

    name: str
    measure: object  # function(context) -> dict to store; None: no command of ours makes it
    views: dict  # view -> function(kept) -> Markdown
    minutes: str  # approximate time of measuring on two cores
    slow: bool = False  # only measured when named
    timed: bool = False  # contains times, so the load of the machine is stored too


REGISTRY = {}


def figure(name, minutes, views=None, slow=False, timed=False):
    """Registers the decorated function as the recipe of a figure. Without `views` the stored table is shown; with no view
    ({}) another figure shows it."""

    def register(measure):
        REGISTRY[name] = Figure(name, measure, {name: table_as_kept} if views is None else views, minutes, slow, timed)
        return measure

    return register


def by_hand(name, minutes, view=None):
    """Registers a figure without a recipe, measured by hand or on another kind of machine; it stays as of its commit."""
    REGISTRY[name] = Figure(name, None, {name: view or table_as_kept}, minutes, True)


def kept(name):
    file = KEPT / f"{name}.json"
    if not file.exists():
        raise SystemExit(f"figures: {file.relative_to(ROOT)} is missing; scripts/figures measure {name}")
    return json.loads(file.read_text(encoding="utf-8"))


def keep(name, document, folder=KEPT):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(dump(document) + "\n", encoding="utf-8")


def dump(value, indent=0):
    """Returns JSON with one table row per line."""
    flat = json.dumps(value, ensure_ascii=False)
    scalars = isinstance(value, list) and not any(isinstance(item, (dict, list)) for item in value)
    if not isinstance(value, (dict, list)) or not value or scalars or (indent >= 2 and len(flat) <= 400):
        return flat
    inner, outer = " " * (indent + 1), " " * indent
    if isinstance(value, dict):
        items = [f"{inner}{json.dumps(key, ensure_ascii=False)}: {dump(item, indent + 1)}" for key, item in value.items()]
        return "{\n" + ",\n".join(items) + f"\n{outer}}}"
    return "[\n" + ",\n".join(inner + dump(item, indent + 1) for item in value) + f"\n{outer}]"


# Provenance of a figure


def git(*arguments):
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def commit():
    """Returns the last commit that changed the sources, and true if there are uncommitted changes."""
    known = git("log", "-1", "--format=%h", "--abbrev=7", "--", *SOURCES)
    if not known:
        raise Missing("git, and the history of the sources: a figure names its commit")
    return known, bool(git("status", "--porcelain", "--", *SOURCES))


def cpu_family():
    """Returns family and model of an x86 CPU in parentheses, since several kinds share a name; else an empty text."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")[0].split("\n")
    except OSError:
        return ""
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return f" (family {fields['cpu family']}, model {fields['model']})" if "cpu family" in fields else ""


@functools.lru_cache
def machine(program):
    """Returns the CPU, the number of CPUs, the instruction set and the memory in doctor's words; no host name."""
    done = subprocess.run([program, "doctor", "--json", "-"], capture_output=True, text=True, check=True)
    name, comma, rest = json.loads(done.stdout)["machine"].partition(",")
    text = name + cpu_family() + comma + rest
    return text.replace("AVX3", "AVX-512").replace("AMX", "AVX-512 and AMX").replace(" GB", " GB of memory")


def provenance(figure_, context):
    known, modified = commit()
    source = {"commit": known, "modified": modified, "date": datetime.date.today().isoformat(),
              "machine": machine(str(context.program)), "command": f"scripts/figures measure {figure_.name}"}
    if figure_.timed:
        source["load_average"] = round(context.load, 1)
    return source


def source_line(document):
    """Returns the line below a table: commit, day, machine, command."""
    lines = []
    for source in document["sources"]:
        of = f"{source['rows']}: " if "rows" in source else ""
        commit_ = f"commit `{source['commit']}`" + (" with changes that are not committed" if source.get("modified") else "")
        date = datetime.date.fromisoformat(source["date"])
        how = f"`{source['command']}`" if "command" in source else "by hand"
        if source.get("measured") == "by hand" and "command" in source:
            how = f"by hand with {how}"
        load = f", load average {source['load_average']}" if "load_average" in source else ""
        lines.append(f"{of}{commit_}, {date.day} {date:%B %Y}; {source['machine']}{load}; {how}")
    return "<sub>" + ".<br>".join(line[0].upper() + line[1:] for line in lines) + ".</sub>"


# Numbers and tables


def rounded(value, digits=8):
    """Returns the value rounded to the digits that the documents may need."""
    return value if value is None or isinstance(value, (int, str)) else float(f"{value:.{digits}g}")


def short(value):
    """Returns three digits, without an exponent if that is no longer."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e5:
        text = f"{value:.3g}"
        return f"{value:.0f}" if "e" in text else text
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def grouped(value):
    """Returns 12,480, but 1296: separates thousands from five digits on."""
    return f"{value:,}" if value >= 10000 else str(value)


def percent(value, digits=2):
    return f"{100 * value:.{digits}f} %"


def within(interval, digits=1):
    """Returns an interval of shares, in percent."""
    return f"({100 * interval[0]:.{digits}f} .. {100 * interval[1]:.{digits}f})"


def listed(names):
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


WORDS = "none one two three four five six seven eight nine ten eleven twelve".split()


def word(count):
    return WORDS[count] if count < len(WORDS) else str(count)


def markdown(titles, rows):
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def with_source(text, document):
    return f"{text}\n\n{source_line(document)}"


def table_as_kept(document):
    return with_source(markdown(document["columns"], document["rows"]), document)


def table(columns, rows):
    return {"columns": columns, "rows": rows}


# Running programs

# Names of packages at PyPI whose modules have other names.
PACKAGES = {"sklearn": "scikit-learn", "PIL": "pillow"}


def has_modules(python, modules):
    return subprocess.run([python, "-c", f"import {', '.join(modules)}"], capture_output=True, check=False).returncode == 0


class Context:
    """Paths of the programs and matrices, and earlier results of the same run."""

    def __init__(self, options):
        self.program = options.program
        self.python = options.python
        self.small = options.small
        self.folder = options.results
        self.matrices_option = options.matrices
        self.suitesparse_option = options.suitesparse
        self.load = os.getloadavg()[0]

    @property
    def bench(self):
        return self.program.parent / "matapprox_bench"

    def scratch(self, name):
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def resumable(self, name):
        """Returns a scratch folder for the rows with which an interrupted measurement resumes: one per commit, so that no
        row is from older code. With uncommitted changes it is emptied, since its rows may be from other changes."""
        known, modified = commit()
        folder = self.folder / f"{name}-{known}{'-modified' if modified else ''}"
        if modified:
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def matrices(self):
        """Returns the folder of the paper's matrices."""
        for folder in (self.matrices_option, os.environ.get("MATAPPROX_MATRICES"), ROOT / "matrices/paper"):
            if folder and Path(folder).is_dir():
                return Path(folder).resolve()
        raise Missing("the paper's matrices: scripts/fetch-matrices, or --matrices FOLDER")

    def paper_matrix(self, stem):
        """Returns the file of one of the paper's matrices."""
        for file in sorted(self.matrices().glob(f"*/{stem}.*")):
            if file.suffix in (".mat", ".mtx"):
                return file
        raise Missing(f"{stem} among the paper's matrices")

    def suitesparse(self, name):
        """Returns the file of a matrix of the SuiteSparse collection."""
        folder = self.suitesparse_option or self.matrices() / "extra"
        file = Path(folder) / f"{name}.mtx"
        if not file.exists():
            raise Missing(f"{name}.mtx of the SuiteSparse collection: --suitesparse FOLDER")
        return file.resolve()

    def gpu(self):
        """Returns the options for a run on a GPU."""
        found = json.loads(self.run("doctor", "--json", "-"))
        if found["gpu"] is None:
            raise Missing(f"a GPU: {found['no_gpu']}")
        return ["--device", "cuda"]

    def say(self, *arguments):
        print("  " + " ".join(map(str, arguments)), file=sys.stderr, flush=True)

    def run(self, *arguments):
        """Runs the program and returns its output."""
        self.say("matapprox", *arguments)
        done = subprocess.run([str(self.program), *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"matapprox {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "--json", "-", "--quiet"))

    def fit(self, file, method, *arguments):
        """Returns the result of `approximate`; the factors are overwritten by the next fit."""
        out = self.scratch("fits") / "out.h5"
        return self.json("approximate", file, method, *arguments, "-o", out, "--force")["results"][0]

    def python_with(self, modules):
        """Returns the Python of --python, or that of build/peers, into which pip installs the modules that both lack."""
        if not modules or has_modules(self.python, modules):
            return self.python
        folder = ROOT / "build/peers"
        python = str(folder / "bin/python")
        if not Path(python).exists():
            subprocess.run([self.python, "-m", "venv", str(folder)], check=True)
        lacking = [module for module in modules if not has_modules(python, [module])]
        if "matapprox" in lacking:
            raise Missing(f"the Python package in {self.python} (--python) or {python}: pip install .")
        if lacking:
            packages = [PACKAGES.get(module, module) for module in lacking]
            self.say("pip install", *packages)
            done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], check=False)
            if done.returncode != 0 or not has_modules(python, modules):
                raise Missing(f"{', '.join(lacking)} in {self.python} (--python), and pip cannot install them in {folder}")
        return python

    def script(self, name, *arguments, needs=(), folder="scripts/bench"):
        """Runs a script and returns its JSON."""
        python = self.python_with(needs)
        out = self.scratch("bench") / f"{name}.json"
        out.unlink(missing_ok=True)
        self.say(f"{folder}/{name}.py", *arguments)
        small = ["--small"] if self.small else []
        subprocess.run([python, str(ROOT / f"{folder}/{name}.py"), "--json", str(out), *small, *map(str, arguments)],
                       cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        return json.loads(out.read_text())
