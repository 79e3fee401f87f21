"""Which mutants there are: the map of folders and tests, the places found, the draw, and those known to change nothing."""

import collections
import dataclasses
import hashlib
import json
import pathlib
import subprocess

KINDS = ("bound", "comparison", "condition", "constant", "guard", "logic", "result", "statement")


class WrongInput(Exception):
    """What was asked for cannot be done; the text says why."""


@dataclasses.dataclass(frozen=True)
class Map:
    """What is mutated, and which tests cover it."""

    folders: dict  # a folder of sources: the modules of tests that are its own, which run first
    left_out: tuple  # folders and files within them that are not mutated
    not_mutated: tuple  # lines with one of these texts are not mutated
    later: tuple  # modules of tests that only run against what all others let live, in this order
    width: dict  # a module of tests: how many of its tests run at a time

    @classmethod
    def read(cls, path):
        try:
            read = json.loads(pathlib.Path(path).read_text())
            return cls(folders=read["folders"], left_out=tuple(read.get("left_out", ())),
                       not_mutated=tuple(read.get("not_mutated", ())), later=tuple(read.get("later", ())),
                       width=read.get("width", {}))
        except (OSError, ValueError, KeyError, AttributeError) as error:
            raise WrongInput(f"--map {path}: {error}") from None

    def folder(self, file):
        """The most specific folder that a file is in, or None."""
        within = [each for each in self.folders if file.startswith(each + "/")]
        return max(within, key=len, default=None)

    def tests(self, file):
        return self.folders[self.folder(file)]

    def has(self, file):
        left_out = any(file == each or file.startswith(each + "/") for each in self.left_out)
        return file.endswith(".swift") and not left_out and self.folder(file) is not None


@dataclasses.dataclass
class Mutant:
    """One change; `edits` are in bytes of the file, and `@` in their text is the mutant's number."""

    file: str
    line: int
    kind: str
    was: str
    became: str
    source: str
    edits: list
    number: int = 0

    @property
    def place(self):
        return f"{self.file}:{self.line}"

    @property
    def span(self):
        return min(each["start"] for each in self.edits), max(each["end"] for each in self.edits)

    @property
    def key(self):
        text = "\0".join([self.file, str(self.span), self.was, self.became])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def change(self):
        return f"{self.was}  →  {self.became}"


def finder(folder):
    """The program that finds places, built with the toolchain's own SwiftSyntax; only after a change."""
    source = pathlib.Path(__file__).with_name("sites.swift")
    program, mark = folder / "sites", folder / "sites.mark"
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    if program.exists() and mark.exists() and mark.read_text() == digest:
        return program
    info = subprocess.run(["swiftc", "-print-target-info"], check=True, capture_output=True, text=True).stdout
    host = pathlib.Path(json.loads(info)["paths"]["runtimeResourcePath"]) / "host"
    libraries = [f"-l{each}" for each in ("SwiftParser", "SwiftSyntax", "SwiftOperators")]
    command = ["swiftc", "-O", "-I", host, "-L", host, *libraries, "-Xlinker", "-rpath", "-Xlinker", host, source,
               "-o", program]
    built = subprocess.run(command, capture_output=True, text=True)
    if built.returncode:
        raise WrongInput(f"the toolchain's SwiftSyntax cannot be used:\n{built.stderr}")
    mark.write_text(digest)
    return program


def find(program, tree, files, mutated):
    """Every mutant of the files, in their order."""
    found = subprocess.run([program, *files], cwd=tree, check=True, capture_output=True, text=True).stdout
    every = [Mutant(**json.loads(line)) for line in found.splitlines()]
    return [each for each in every if not any(text in each.source for text in mutated.not_mutated)]


def draw(every, seed, count):
    """So many mutants, each kind in its turn as long as there are some; none within another.

    Their order is that of digests: where code is added or removed, all other mutants keep their places.
    """
    seen, order = collections.Counter(), {}
    for mutant in every:
        identity = mutant.file, mutant.kind, mutant.source, mutant.was, mutant.became
        seen[identity] += 1
        order[id(mutant)] = hashlib.sha256(repr((seed, identity, seen[identity])).encode()).digest()
    heaps = {kind: sorted((each for each in every if each.kind == kind), key=lambda each: order[id(each)])
             for kind in KINDS}
    drawn, taken = [], collections.defaultdict(list)
    while len(drawn) < count and any(heaps.values()):
        for heap in heaps.values():
            while heap:
                mutant = heap.pop()
                start, end = mutant.span
                if all(end <= other[0] or start >= other[1] for other in taken[mutant.file]):
                    taken[mutant.file].append((start, end))
                    drawn.append(mutant)
                    break
    drawn = drawn[:count]
    for number, mutant in enumerate(drawn, 1):
        mutant.number = number
    return drawn


class Equivalents:
    """Mutants that change nothing that a test could see, each with the reason, by file, line of source and change."""

    def __init__(self, path):
        self._reasons = {}
        if not path.exists():
            return
        for each in json.loads(path.read_text()):
            try:
                if not each["reason"].strip():
                    raise WrongInput(f"{path}: a reason is missing")
                self._reasons[each["file"], each["source"], each["was"], each["became"]] = each["reason"]
            except (KeyError, TypeError):
                raise WrongInput(f"{path}: file, source, was, became and reason belong to each") from None

    def reason(self, mutant):
        return self._reasons.get((mutant.file, mutant.source, mutant.was, mutant.became))
