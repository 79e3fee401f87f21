"""Charts as SVG, to stand within a page."""

import math
from html import escape

from inputs import plain

COLOURS = ("#2b6cb0", "#c05621", "#2f855a", "#6b46c1", "#b83280", "#4a5568")
_WIDTH, _LEFT, _RIGHT = 760, 210, 160


def bars(title, rows, unit, mark=None):
    """Horizontal bars. `rows` are (name, [(part, value)]); `mark` is (value, name) of a line across all."""
    greatest = max([sum(value for _, value in parts) for _, parts in rows] + [mark[0] if mark else 0]) or 1
    names = list(dict.fromkeys(part for _, parts in rows for part, _ in parts))
    width = _WIDTH - _LEFT - _RIGHT
    top = 34 if len(names) < 2 else 56
    height = top + 32 * len(rows) + (24 if mark else 8)
    text = [_opened(height, title)]
    if len(names) > 1:
        text += _legend(names)
    for place, (name, parts) in enumerate(rows):
        y, x = top + 32 * place, float(_LEFT)
        text.append(f'<text x="{_LEFT - 8}" y="{y + 16}" text-anchor="end">{escape(name)}</text>')
        for part, value in parts:
            length = value / greatest * width
            text.append(f'<rect x="{x:.1f}" y="{y}" width="{length:.1f}" height="22" '
                        f'fill="{COLOURS[names.index(part) % len(COLOURS)]}"><title>{escape(part)}: '
                        f'{plain(value)} {escape(unit)}</title></rect>')
            x += length
        total = f"{plain(sum(value for _, value in parts))} {unit}"
        text.append(f'<text x="{x + 6:.1f}" y="{y + 16}">{escape(total)}</text>')
    if mark:
        x = _LEFT + mark[0] / greatest * width
        y = top + 32 * len(rows)
        text.append(f'<line x1="{x:.1f}" y1="{top - 6}" x2="{x:.1f}" y2="{y}" stroke="#c53030" stroke-dasharray="4 3"/>')
        text.append(f'<text x="{x:.1f}" y="{y + 14}" text-anchor="middle" fill="#c53030">{escape(mark[1])}</text>')
    return "\n".join([*text, "</svg>"])


def lines(title, series, across, upwards, marks=()):
    """Curves. `series` are (name, [(x, y)]); `marks` are (x, name) of lines upwards."""
    left, top, width, height = 70, 58, _WIDTH - 90, 230
    greatest_x = max(x for _, points in series for x, _ in points) or 1
    greatest_y = _rounded_up(max(y for _, points in series for _, y in points) or 1)

    def place(x, y):
        return (left + x / greatest_x * width, top + height - y / greatest_y * height)

    text = [_opened(top + height + 50, title), *_legend([name for name, _ in series])]
    for step in range(5):
        _, y = place(0, greatest_y * step / 4)
        text.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + width}" y2="{y:.1f}" stroke="#ddd"/>')
        text.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{plain(greatest_y * step / 4)}</text>')
    for step in range(7):
        value = greatest_x * step / 6
        x, y = place(value, 0)
        text.append(f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{plain(value)}</text>')
    for value, name in marks:
        x, y = place(value, 0)
        text.append(f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{y:.1f}" stroke="#a0aec0" stroke-dasharray="3 3">'
                    f'<title>{escape(name)}</title></line>')
    for number, (name, points) in enumerate(series):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in points))
        text.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[number % len(COLOURS)]}" stroke-width="2">'
                    f'<title>{escape(name)}</title></polyline>')
    text.append(f'<text x="{left + width / 2}" y="{top + height + 40}" text-anchor="middle">{escape(across)}</text>')
    text.append(f'<text x="{left}" y="{top - 8}" text-anchor="start" fill="#666">{escape(upwards)}</text>')
    return "\n".join([*text, "</svg>"])


def _opened(height, title):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
            f'font-family="sans-serif" font-size="12"><title>{escape(title)}</title>'
            f'<text x="0" y="16" font-size="15" font-weight="bold">{escape(title)}</text>')


def _legend(names):
    text, x = [], 0
    for number, name in enumerate(names):
        text.append(f'<rect x="{x}" y="26" width="12" height="12" fill="{COLOURS[number % len(COLOURS)]}"/>'
                    f'<text x="{x + 17}" y="36">{escape(name)}</text>')
        x += 34 + 7 * len(name)
    return text


def _rounded_up(value):
    power = 10 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 4, 5, 8, 10) if step * power >= value)
