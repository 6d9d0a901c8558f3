"""Charts as SVG, written from the kept JSON."""
import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 860, 480
LEFT, RIGHT, TOP, BOTTOM = 97, 831, 20, 250
INK, GREY, RULE = "#1c2024", "#6b7280", "#e3e5e8"
LEAST = 1e-6  # smaller ratios are drawn here


def text(x, y, content, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(content)}</text>'


def marker(shape, x, y, color):
    if shape == "square":
        return f'<rect x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10" fill="{color}"/>'
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5.5" fill="{color}"/>'
    return f'<path d="M{x:.1f},{y - 7:.1f} l7,12 h-14 z" fill="{color}"/>'


def ratio_chart(document):
    """Errors of SF over that of TSVD at the paper's rank, row by row of Table 1."""
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

    source = document["sources"][0]
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
             f'font-size="13" fill="{INK}">',
             f"<title>Error of SF over that of TSVD, the {len(rows)} rows of Table 1</title>",
             f"<desc>scripts/figures write, from docs/figures/table1.json; commit {source['commit']}; "
             f"{escape(source['machine'])}</desc>",
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>']
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
    return "\n".join([*parts, "</svg>", ""])
