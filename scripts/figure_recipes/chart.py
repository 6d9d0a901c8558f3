"""SVG charts from the stored JSON."""
import math
from xml.sax.saxutils import escape

from .kept import grouped

WIDTH, HEIGHT = 860, 480
LEFT, RIGHT, TOP, BOTTOM = 97, 831, 20, 250
INK, GREY, RULE = "#1c2024", "#6b7280", "#e3e5e8"
LEAST = 1e-6  # smaller ratios are drawn here


def text(x, y, content, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(content)}</text>'


def chart(width, height, font_size, title, source, parts):
    """Returns an SVG image of the parts, empty ones left out, on white ground."""
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
                      f'font-size="{font_size}" fill="{INK}">', f"<title>{title}</title>",
                      f"<desc>scripts/figures write, from docs/figures/{escape(source)}</desc>",
                      f'<rect width="{width}" height="{height}" fill="#ffffff"/>', *filter(None, parts), "</svg>", ""])


def marker(shape, x, y, color):
    if shape == "square":
        return f'<rect x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10" fill="{color}"/>'
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5.5" fill="{color}"/>'
    return f'<path d="M{x:.1f},{y - 7:.1f} l7,12 h-14 z" fill="{color}"/>'


def ratio_chart(document):
    """Returns a chart of SF errors divided by the TSVD error at the paper's rank, for the rows of Table 1."""
    rows = document["rows"]
    series = [("SF, the paper's", "square", "#cc4400", [row["paper_sf"] / row["tsvd"] for row in rows]),
              ("SF, ours, the paper's pattern", "circle", "#1d5fb4", [row["reference"] / row["tsvd"] for row in rows]),
              ("SF, ours, best pattern", "triangle", "#058a64", [row["auto"] / row["tsvd"] for row in rows])]
    top = math.ceil(math.log10(max(max(values) for *_, values in series)))
    bottom = math.log10(LEAST) - 0.7
    step = (RIGHT - LEFT) / len(rows)

    def x(index):
        return LEFT + (index + 0.5) * step

    def y(ratio):
        return TOP + (top - math.log10(max(ratio, LEAST))) / (top - bottom) * (BOTTOM - TOP)

    parts = []
    for exponent in range(-6, top + 1, 2):
        height = y(10.0**exponent)
        label = {0: "1", 2: "100", 4: "10,000", -2: "0.01"}.get(
            exponent, "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")))
        label = ("≤ " if exponent == -6 else "") + label
        parts.append(f'<path d="M{LEFT},{height:.1f} H{RIGHT}" stroke="{RULE}"/>')
        parts.append(text(LEFT - 9, height + 4.5, label, "end"))
    for index, row in enumerate(rows):
        parts.append(f'<path d="M{x(index):.1f},{TOP} V{BOTTOM}" stroke="{RULE}"/>')
        parts.append(text(x(index) + 4, BOTTOM + 14, f"{index + 1} {row['name']}", "end",
                          f' transform="rotate(-38 {x(index) + 4:.1f} {BOTTOM + 14})"'))
        if index and row["category"] != rows[index - 1]["category"]:
            edge = LEFT + index * step
            parts.append(f'<path d="M{edge:.1f},{TOP} V{BOTTOM}" stroke="{GREY}" stroke-dasharray="3 4"/>')
    parts.append(f'<path d="M{LEFT},{TOP} V{BOTTOM} H{RIGHT}" fill="none" stroke="{GREY}"/>')
    parts.append(f'<path d="M{LEFT},{y(1):.1f} H{RIGHT}" stroke="{INK}" stroke-width="1.5" stroke-dasharray="6 5"/>')
    parts.append(text(26, (TOP + BOTTOM) / 2, "SF error / TSVD error", "middle",
                      f' transform="rotate(-90 26 {(TOP + BOTTOM) / 2})"'))
    for _, shape, color, values in series:
        parts += [marker(shape, x(index), y(value), color) for index, value in enumerate(values)]
    for index, (title, shape, color, _) in enumerate([("TSVD at the paper's rank", None, INK, None), *series]):
        left, height = (200, 500)[index % 2], 420 + 28 * (index // 2)
        if shape:
            parts.append(marker(shape, left, height, color))
        else:
            parts.append(f'<path d="M{left - 18},{height} h34" stroke="{color}" stroke-width="1.5" stroke-dasharray="6 5"/>')
        parts.append(text(left + 26, height + 4.5, title, "start"))
    source = document["sources"][0]
    return chart(WIDTH, HEIGHT, 13, f"Error of SF over that of TSVD, the {len(rows)} rows of Table 1",
                 f"table1.json; commit {source['commit']}; {source['machine']}", parts)


PANEL_WIDTH, PANEL_HEIGHT = 330, 150
SHAPES = {"psf": ("circle", "#1d5fb4"), "softmax": ("square", "#cc4400"), "linformer": ("triangle", "#058a64"),
          "performer": ("square", "#8a3fb0"), "tokenwise": ("circle", "#8b9096")}
FIGURE5_PANELS = [("adding", "flatten", "Adding, all tokens are read", 84.64), ("adding", "cls", "Adding, the first token is read", 84.64),
                  ("temporal_order", "flatten", "Temporal Order, all tokens are read", 75),
                  ("temporal_order", "cls", "Temporal Order, the first token is read", 75)]


def figure5_panel(left, top, title, baseline, cells, lengths):
    """Returns one panel: median over the seeds against N, with the smallest and largest value."""
    bottom, step = top + PANEL_HEIGHT, PANEL_WIDTH / len(lengths)

    def y(percent):
        return bottom - percent / 100 * PANEL_HEIGHT

    parts = [text(left, top - 10, title, "start", ' font-weight="bold"')]
    for percent in (0, 25, 50, 75, 100):
        parts.append(f'<path d="M{left},{y(percent):.1f} h{PANEL_WIDTH}" stroke="{RULE}"/>')
        parts.append(text(left - 8, y(percent) + 4.5, f"{percent}", "end"))
    parts.append(f'<path d="M{left},{y(baseline):.1f} h{PANEL_WIDTH}" stroke="{INK}" stroke-width="1.5" stroke-dasharray="6 5"/>')
    parts += [text(left + (i + 0.5) * step, bottom + 18, f"N = {grouped(length)}") for i, length in enumerate(lengths)]
    for rank, (model, (shape, color)) in enumerate(SHAPES.items()):
        points = []
        for i, length in enumerate(lengths):
            if (model, length) not in cells:
                continue
            errors = sorted(cells[model, length])
            x = left + (i + 0.5 + 0.13 * (rank - 2)) * step
            points.append((x, y(errors[len(errors) // 2])))
            parts.append(f'<path d="M{x:.1f},{y(errors[0]):.1f} V{y(errors[-1]):.1f}" stroke="{color}" stroke-width="2"/>')
        path = " L".join(f"{x:.1f},{height:.1f}" for x, height in points)
        parts.append(f'<path d="M{path}" fill="none" stroke="{color}" stroke-opacity="0.45"/>' if points else "")
        parts += [marker(shape, x, height, color) for x, height in points]
    return parts


CELL, GAP = 10, 24  # sizes in the maps
GRAYS = [f"#{51 * level:02x}{51 * level:02x}{51 * level:02x}" for level in range(6)]
DIVERGING = ["#053061", "#2166ac", "#4393c3", "#92c5de", "#d1e5f0", "#f7f7f7", "#fddbc7", "#f4a582", "#d6604d", "#b2182b", "#67001f"]


def map_panel(left, top, side, values, colors, least, largest):
    """Returns a square image with one path per color."""
    paths = {}
    for i, value in enumerate(values):
        color = colors[round((value - least) / (largest - least) * (len(colors) - 1))]
        paths[color] = paths.get(color, "") + f"M{i % side},{i // side}h1v1h-1z"
    return [f'<g transform="translate({left} {top}) scale({CELL})" shape-rendering="crispEdges">',
            *(f'<path d="{path}" fill="{color}"/>' for color, path in sorted(paths.items())), "</g>"]


def maps_chart(document):
    """Returns Pathfinder images with the attention maps from and to the curve ends; each map has its own scale."""
    side, samples = document["side"], document["samples"]
    size = side * CELL + GAP
    width, height = 3 * size + GAP + 70, len(samples) * size + 60
    lines = [text(80 + column * size + side * CELL / 2, 24, title)
             for column, title in enumerate(("image", "rows of the ends", "columns of the ends"))]
    for row, sample in enumerate(samples):
        top = 40 + row * size
        lines.append(text(70, top + side * CELL / 2 + 4, f"sample {sample['sample']}", "end"))
        lines += map_panel(80, top, side, sample["image"], GRAYS, 0, max(sample["image"]))
        for column, reading in enumerate(("rows", "columns")):
            largest = max(map(abs, sample[reading]))
            lines += map_panel(80 + (column + 1) * size, top, side, sample[reading], DIVERGING, -largest, largest)
    source = document["sources"][0]
    return chart(width, height, 12, "Pathfinder: images, mean rows and mean columns of PSF-Attn at the two ends",
                 f"pathfinder_maps.json; commit {source['commit']}; {source['machine']}", lines)


def figure5_chart(parts):
    """Returns test errors of Fig. 5's models by N, one panel per task and head; `parts`: documents of one N each."""
    lengths = sorted({part["length"] for part in parts})
    sources = sorted({part["sources"][0]["commit"] for part in parts})
    lines = [text(22, 225, "test error in %", "middle", ' transform="rotate(-90 22 225)"')]
    for index, (task, head, title, baseline) in enumerate(FIGURE5_PANELS):
        cells = {(cell["model"], part["length"]): cell["errors"] for part in parts for cell in part["cells"]
                 if (cell["task"], cell["head"]) == (task, head)}
        lines += figure5_panel(80 + 420 * (index % 2), 40 + 210 * (index // 2), title, baseline, cells, lengths)
    x = 80
    for model, (shape, color) in SHAPES.items():
        lines += [marker(shape, x, HEIGHT - 18, color), text(x + 14, HEIGHT - 13.5, model, "start")]
        x += 120
    lines += [f'<path d="M{x - 14},{HEIGHT - 18} h34" stroke="{INK}" stroke-width="1.5" stroke-dasharray="6 5"/>',
              text(x + 28, HEIGHT - 13.5, "baseline", "start")]
    return chart(WIDTH, HEIGHT, 13, "Test errors in % by length of the sequence: median, smallest and largest of three seeds",
                 f"figure5*.json; commits {', '.join(sources)}", lines)
