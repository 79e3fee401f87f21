"""The table, the Markdown report and the chart."""

import html
import os
import platform

_ROLES = [("worker", "worker", "#2b6cb0"), ("nginx", "nginx", "#90cdf4"), ("redis", "Redis", "#c53030")]


def machine():
    """The machine the numbers come from, in one line."""
    with open("/proc/cpuinfo") as file:
        model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "unknown")
    return f"{os.cpu_count()} × {model}, Linux {platform.release()}, {platform.machine()}"


_HEAD = ["scenario", "requests/s", "CPU w", "CPU n", "CPU R", "syscalls", "waits", "p50 ms", "p99 ms", "RSS MB",
         "threads", "errors"]


def _rows(results):
    for result in results:
        cpu = result["cpu"]
        yield [result["title"], f"{result['rate']:,.0f}", *(f"{cpu[role]:.3f}" for role, _, _ in _ROLES),
               *(f"{result[key]:.2f}" if key in result else "-" for key in ("syscalls", "waits")),
               f"{result['p50']:.2f}", f"{result['p99']:.2f}", f"{result['rss']:.1f}",
               str(result["threads"]), str(result["errors"])]


def table(results):
    """Text with aligned columns. CPU is CPU-seconds per 10,000 requests: worker, nginx, Redis."""
    rows = [_HEAD, *([cell.replace("`", "") for cell in row] for row in _rows(results))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) if column == 0 else cell.rjust(width)
                  for column, (cell, width) in enumerate(zip(row, widths))).rstrip()
        for row in rows)


def markdown(results, bar_lines, notes, how, chart_name):
    rows = [_HEAD, ["---"] + ["---:"] * (len(_HEAD) - 1), *_rows(results)]
    lines = ["# Benchmark", "", machine(), "", how, "",
             "CPU is CPU-seconds per 10,000 requests: w the worker (or the floor), n nginx, R Redis.",
             "System calls are per request; waits are those among them that wait for events.", "",
             *("| " + " | ".join(row) + " |" for row in rows), "",
             *(f"- {note}" for note in notes), *([""] if notes else []), f"![CPU-seconds]({chart_name})", "", "```",
             *bar_lines, "```", ""]
    return "\n".join(lines)


def chart(results):
    """An SVG of stacked bars: CPU-seconds per 10,000 requests; for renewals per 10,000 keys."""
    bars = []
    for result in results:
        share = result["keys"] or 1
        unit = ", per key" if result["keys"] else ""
        bars.append((result["title"].replace("`", "") + unit,
                     [(result["cpu"][role] / share, colour) for role, _, colour in _ROLES]))
    left, width, step, top = 300, 460, 34, 74
    greatest = max((sum(value for value, _ in parts) for _, parts in bars), default=0) or 1
    height = top + step * len(bars) + 16
    text = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 90}" height="{height}" '
            f'font-family="sans-serif" font-size="13">',
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            '<text x="16" y="26" font-size="16">CPU-seconds per 10,000 requests (renewals: per 10,000 keys)</text>']
    for place, (_, label, colour) in enumerate(_ROLES):
        x = left + place * 90
        text.append(f'<rect x="{x}" y="42" width="12" height="12" fill="{colour}"/>'
                    f'<text x="{x + 18}" y="53">{label}</text>')
    for place, (title, parts) in enumerate(bars):
        y, x = top + place * step, float(left)
        text.append(f'<text x="{left - 10}" y="{y + 17}" text-anchor="end">{html.escape(title)}</text>')
        for value, colour in parts:
            length = value / greatest * width
            text.append(f'<rect x="{x:.1f}" y="{y}" width="{length:.1f}" height="24" fill="{colour}"/>')
            x += length
        text.append(f'<text x="{x + 8:.1f}" y="{y + 17}">{sum(value for value, _ in parts):.3f}</text>')
    return "\n".join([*text, "</svg>", ""])
