"""The copied tree with all mutants in it behind one switch, and its one build."""

import bisect
import io
import os
import pathlib
import re
import subprocess
import tarfile

from mutants import WrongInput

_ERROR = re.compile(r"^(/.*?\.swift):(\d+):\d+: error: ", re.M)
_MAIN = b"""import Testing

@main struct Runner {
    static func main() async { await Testing.__swiftPMEntryPoint() as Never }
}
"""


class Tree:
    def __init__(self, package, state, jobs):
        self.package = package
        self.folder = state / "tree"
        self._build_folder = state / "build"
        self._log = state / "build.log"
        self._jobs = jobs

    def copy(self, commit):
        """The package as it was committed. Files that are the same stay: what was built of them is used again."""
        packed = subprocess.run(["git", "archive", commit], cwd=self.package, check=True, capture_output=True).stdout
        there = set()
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            for entry in archive:
                path = self.folder / entry.name
                if entry.isdir():
                    continue
                there.add(path)
                if entry.issym():
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.unlink(missing_ok=True)
                    path.symlink_to(entry.linkname)
                elif _write(path, archive.extractfile(entry).read()):
                    path.chmod(entry.mode)
        switch = pathlib.Path(__file__).with_name("Mutant.swift")
        for path in self.folder.rglob("*"):
            if path.name not in (switch.name, "XCTMain.swift") and (path.is_file() or path.is_symlink()) and path not in there:
                path.unlink()

    def files(self, mutated):
        paths = (each.relative_to(self.folder).as_posix() for each in self.folder.rglob("*.swift"))
        return sorted(each for each in paths if mutated.has(each) and not each.endswith("/Mutant.swift"))

    def mutate(self, drawn, originals, mutated):
        """Writes each file with its mutants, and the switch; `originals` keeps the bytes of those that had some."""
        switch = pathlib.Path(__file__).with_name("Mutant.swift").read_bytes()
        for folder in mutated.folders:
            # A module is a folder below Sources, whatever folders it has.
            _write(self.folder.joinpath(*folder.split("/")[:2], "Mutant.swift"), switch)
        by_file = {}
        for mutant in drawn:
            by_file.setdefault(mutant.file, []).append(mutant)
        for file in by_file.keys() | originals.keys():
            path = self.folder / file
            original = originals.setdefault(file, path.read_bytes())
            edits = [(each["start"], each["end"], each["text"].replace("@", str(mutant.number)))
                     for mutant in by_file.get(file, []) for each in mutant.edits]
            text, at = [], 0
            for start, end, new in sorted(edits):
                text += [original[at:start], new.encode()]
                at = end
            _write(path, b"".join([*text, original[at:]]))

    def build(self, drawn, mutated, say):
        """Builds the tests with all mutants in them.

        - Returns: the numbers of those that the compiler refuses, which were taken out.
        """
        originals, invalid = {}, set()
        # Without it SwiftPM looks for tests of XCTest in an index, which takes time to write.
        _write(self.folder / "Tests/XCTMain.swift", _MAIN)
        while True:
            self.mutate([each for each in drawn if each.number not in invalid], originals, mutated)
            command = self._swift_build("--build-tests", "-j", str(self._jobs), "-debug-info-format", "none",
                                        "--disable-index-store")
            with self._log.open("w") as log:
                if subprocess.run(command, stdout=log, stderr=subprocess.STDOUT).returncode == 0:
                    return invalid
            said = self._log.read_text(errors="replace")
            refused = self._refused(said, [each for each in drawn if each.number not in invalid])
            if not refused:
                raise WrongInput(f"the package was not built ({self._log}):\n" + "\n".join(said.splitlines()[-20:]))
            invalid |= refused
            for each in drawn:
                if each.number in refused:
                    say(f"does not compile: {each.place}: {each.change}")

    def _swift_build(self, *words):
        return ["nice", "-n", "15", "swift", "build", "--package-path", self.folder,
                "--scratch-path", self._build_folder, *words]

    @property
    def programs(self):
        """The folder of what was built."""
        said = subprocess.run(self._swift_build("--show-bin-path"), check=True, capture_output=True, text=True).stdout
        return pathlib.Path(said.strip())

    def _refused(self, said, drawn):
        """The mutants at which, or nearest before which, the compiler found an error."""
        refused = set()
        for path, line in set(_ERROR.findall(said)):
            file = os.path.relpath(path, self.folder)
            within = [each for each in drawn if each.file == file]
            if not within:
                continue
            text = (self.folder / file).read_text()
            ends = [end for end, character in enumerate(text) if character == "\n"]
            at = {}
            for mutant in within:
                places = [found.start() for found in re.finditer(rf"Mutant\.isOn\({mutant.number}\)", text)]
                at[mutant.number] = [bisect.bisect_left(ends, place) + 1 for place in places]
            # What stands on the line; else what begins last before it, as of an expression of several lines.
            here = {number for number, lines in at.items() if int(line) in lines}
            before = [(max(each for each in lines if each < int(line)), number) for number, lines in at.items()
                      if any(each < int(line) for each in lines)]
            after = [(-min(lines), number) for number, lines in at.items()]
            refused |= here or {max(before or after)[1]}
        return refused


def _write(path, content):
    """Whether it had to be written."""
    if path.is_file() and path.read_bytes() == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return True
