"""The C++ reference, from the public headers: a page for each folder that has some.

Comments of the headers are whole sentences beside what they describe, in no markup of a tool. So a
header becomes a section, what its namespace declares becomes blocks of C++ with the comments within
them, and a comment in front of a type or function becomes the text above it. Private members,
includes and bodies of inline functions of several lines are left out.
"""

import re

# Folder -> title; a folder that is missing here is an error.
FOLDERS = {
    "core": "Core: operators, options, errors, threads",
    "operators": "Operators",
    "factors": "Factors and approximations",
    "methods": "Methods",
    "best": "The best approximation",
    "measure": "Measuring",
    "solve": "Solving",
    "io": "Files",
    "attention": "Choices of attention models",
    "attention/layers": "Attention layers",
    "attention/mechanisms": "Attention mechanisms",
    "attention/tasks": "Sequence tasks",
    "attention/training": "Training",
    "kernels": "Kernels",
    "device": "Devices",
    "mpi": "Several processes",
}
TEMPLATE = re.compile(r"^template <[^;{]*?> (?=[a-z]\w* |std::|[A-Z])")
ACCESS = re.compile(r" (public|protected|private):")
FORWARD = re.compile(r"^namespace [\w:]+ \{\n(?:(?:struct|class) \w+;\n)+\}.*\n", re.M)
TYPE = re.compile(r"(?:class|struct|enum class|using|concept)\s+(\w+)")
FUNCTION = re.compile(r"(\w+|operator\S+)\s*\(")


def blocks(text):
    """Top-level declarations of the namespace: (comment lines, code lines), in order."""
    lines = FORWARD.sub("", text).split("\n")
    inside = [k for k, line in enumerate(lines) if re.match(r"namespace [\w:]+ \{", line)]
    comment, code, depth = [], [], 0
    for line in lines[inside[0] + 1 :] if inside else []:
        if re.match(r"namespace [\w:]+ \{|\}\s*// namespace", line):
            continue
        if not code and line.startswith("//"):
            comment.append(line)
            continue
        if not line.strip() and depth == 0:
            if code:
                yield comment, code
            comment, code = [], []
            continue
        code.append(line)
        bare = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])+\'|//.*', "", line)
        depth += bare.count("{") + bare.count("(") - bare.count("}") - bare.count(")")
    if code:
        yield comment, code


def public(code):
    """Without the private members of a class, but for virtual functions, which others implement."""
    sections = [[]]
    for line in code:
        if ACCESS.match(line) or line.startswith("}"):
            sections.append([])
        sections[-1].append(line)
    kept = []
    for lines in sections:
        code = [line for line in lines[1:] if not re.match(r"\s*(//|$)", line)]
        if lines and "private:" in lines[0] and not code[0].startswith("  virtual"):
            continue
        if lines and lines[0].startswith("}"):
            while kept and not kept[-1].strip():
                kept.pop()
        kept += lines
    return kept


def declared(code):
    """The name of what a block declares: of a type or alias, or of the first function; None for a
    specialization."""
    text = " ".join(line.split("//")[0].strip() for line in code)
    if text.startswith("template <>"):
        return None
    text = TEMPLATE.sub("", text)
    named = TYPE.match(text)
    if named:
        return named.group(1)
    function = FUNCTION.search(text)
    return function.group(1) if function else None


def is_forward(code):
    """Whether a block only says that there are types of these names."""
    return all(re.match(r"\s*(class|struct) \w+;$", line) for line in code)


def escaped(line):
    """A line as Markdown that shows it as it is; names between backticks are code."""
    parts = re.split(r"(`[^`]+`)", line)
    parts[::2] = [re.sub(r"([\\`*_{}\[\]<>#|$~])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def prose(comment):
    """The text of a comment as Markdown: blank lines part paragraphs, what is indented is code."""
    text = [re.sub(r"^//[/!]?<? ?", "", line) for line in comment]
    out, code = [], False
    for line in text:
        if line.startswith("    ") and not code:
            out += ["", "```cpp"]
            code = True
        if code and line.strip() and not line.startswith("    "):
            out += ["```", ""]
            code = False
        out.append(line[4:] if code else escaped(line))
    return "\n".join([*out, "```"] if code else out)


def section(root, header):
    """A header as Markdown: its name, then each declaration with what is said in front of it."""
    out, titles, last = [f"## {header.relative_to(root.parent)}", ""], [], None
    for comment, code in blocks(header.read_text(encoding="utf-8")):
        code = public(code)
        text = [prose(comment), ""] if comment else []
        if not code:
            out += text
            continue
        if is_forward(code):
            continue
        name = declared(code)
        if name is None and last is not None and not comment:
            # The names of an enumeration's values belong to it.
            out[last:last] = ["", *code]
            last += len(code) + 1
            continue
        if name and name not in titles:
            titles.append(name)
            out += [f"### {name}", ""]
        out += [*text, "```cpp", *code, "```", ""]
        last = len(out) - 2
    return "\n".join(out)


def write_reference(root):
    """(name, Markdown) of each page and of their index."""
    found = sorted({str(path.parent.relative_to(root)) for path in root.glob("*/**/*.hpp")})
    if sorted(FOLDERS) != found:
        raise SystemExit(f"cpp_reference.py: FOLDERS differ from {root}: {found}")
    pages = {folder: folder.rpartition("/")[2] for folder in FOLDERS}
    entries = "\n".join(pages.values())
    yield (
        "index",
        "# C++ reference\n\nFrom the public headers, which are its source. "
        '`#include "matapprox/matapprox.hpp"` includes all of them but those of `mpi`; '
        "[Architecture](../../docs/architecture.md) says how they hang together.\n\n"
        f"```{{toctree}}\n{entries}\n```\n",
    )
    for folder, title in FOLDERS.items():
        sections = [section(root, header) for header in sorted((root / folder).glob("*.hpp"))]
        yield pages[folder], f"# {title}\n\n" + "\n".join(sections)
