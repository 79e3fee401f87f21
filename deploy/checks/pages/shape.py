"""Titles, the list of pages, repeated paragraphs, languages of blocks, links."""

import re

import markdown

README_LINES = 150
# Swift is compiled by deploy/checks/docs, TypeScript and Python are run by deploy/checks/wire; text is output, or input for programs that are not here.
LANGUAGES = {"http", "javascript", "json", "json5", "logrotate", "python", "sh", "swift", "text", "typescript", "yaml"}


def faults():
    found, seen = [], {}
    pages = markdown.manual()
    index = {link.text for page in pages if page.path.name == "cloakroom.md" for link in page.links()}
    for page in pages:
        name = page.path.name
        if not page.text.startswith("# "):
            found.append(f"{name} does not begin with a title")
        if name not in index and name not in ("README.md", "cloakroom.md"):
            found.append(f"{name} is not in the root page, cloakroom.md")
        for paragraph in page.paragraphs():
            if len(paragraph.text) > 80 and paragraph.text in seen:
                found.append(f"{markdown.place(paragraph)}: this paragraph is also in {seen[paragraph.text]}")
            seen[paragraph.text] = markdown.place(paragraph)
        for block in page.blocks:
            if block.language not in LANGUAGES:
                found.append(f"{markdown.place(block)}: no check knows the language \"{block.language}\" of this block")
            elif block.language == "text" and re.search(r"^(cloakroom|deploy/\w+|curl|aws|systemctl) ", block.text, re.MULTILINE):
                found.append(f"{markdown.place(block)}: commands as text; write ```sh")
    lines = len(pages[0].text.splitlines())
    if lines > README_LINES:
        found.append(f"README.md has {lines} lines")
    return found


def broken_links():
    """Of the manual, and of the pages in deploy."""
    found = []
    for page in markdown.manual() + [markdown.Page(path) for path in sorted((markdown.ROOT / "deploy").rglob("*.md"))]:
        for link in page.links():
            if link.text.startswith(("https://", "http://", "mailto:")):
                continue
            path, _, anchor = link.text.partition("#")
            target = (page.path.parent / path).resolve() if path else page.path
            if not target.exists():
                found.append(f"{markdown.place(link)}: there is no {link.text}")
            elif anchor and anchor not in markdown.Page(target).anchors():
                found.append(f"{markdown.place(link)}: {target.name} has no heading #{anchor}")
    return found
