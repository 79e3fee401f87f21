"""Markdown as far as the checks need it: headings, blocks of code, links, spans of code."""

import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDER = ROOT / "Sources" / "cloakroom" / "cloakroom.docc"

Block = collections.namedtuple("Block", "page line language text")
Span = collections.namedtuple("Span", "page line text")


def place(item):
    return f"{item.page.path.relative_to(ROOT)}:{item.line}"


class Page:
    def __init__(self, path):
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.blocks, self.prose = [], []
        block = None
        for number, line in enumerate(self.text.splitlines(), 1):
            fence = re.match(r"\s*```\s*(\S*)", line)
            if fence and block is None:
                block = (number, fence[1], [])
            elif fence:
                self.blocks.append(Block(self, block[0], block[1], "\n".join(block[2]) + "\n"))
                block = None
            elif block:
                block[2].append(line)
            else:
                self.prose.append((number, line))

    def code_spans(self):
        return [Span(self, number, text) for number, line in self.prose for text in re.findall(r"`([^`]+)`", line)]

    def links(self):
        for number, line in self.prose:
            for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
                yield Span(self, number, target)

    def anchors(self):
        """As GitHub makes them of headings."""
        seen, anchors = collections.Counter(), set()
        for _, line in self.prose:
            heading = re.match(r"#{1,6} +(.*)", line)
            if heading:
                text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).strip().lower()
                slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
                anchors.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
                seen[slug] += 1
        return anchors

    def paragraphs(self):
        """With the number of the line each begins in; neither headings nor the rows of tables."""
        start, lines = 0, []
        for number, line in self.prose + [(0, "")]:
            if line.strip() and not line.startswith(("#", "|", "<!--")):
                if not lines:
                    start = number
                lines.append(line.strip())
            elif lines:
                yield Span(self, start, " ".join(lines))
                lines = []


def manual():
    return [Page(ROOT / "README.md")] + [Page(path) for path in sorted(FOLDER.glob("*.md"))]
