# shellcheck shell=bash
# For sourcing: the Swift in articles.

# example ARTICLE: all its blocks of Swift, in their order, and what they take for granted.
example() {
    awk '
        /^<!-- example/ { hidden = 1; next }
        hidden && /-->/ { hidden = 0; next }
        hidden { print; next }
        /^```swift/ { shown = 1; next }
        /^```/ { shown = 0; next }
        shown { print }
    ' "$1"
}

# example_without_screens ARTICLE: the same up to the first block that needs SwiftUI, and then what runs it: `<!-- run … -->`.
example_without_screens() {
    awk '
        function end() { if (block ~ /(^|\n)import SwiftUI\n/) screens = 1; if (!screens) printf "%s", block; block = "" }
        /^<!-- (example|run)/ { hidden = 1; runs = /run/; next }
        hidden && /-->/ { hidden = 0; next }
        hidden && runs { calls = calls $0 "\n"; next }
        hidden { print; next }
        /^```swift/ { shown = 1; next }
        /^```/ { if (shown) end(); shown = 0; next }
        shown { block = block $0 "\n" }
        END { printf "%s", calls }
    ' "$1"
}

# example_program LIBRARY ARTICLE: the latter in the main file of a program; imports are at its top.
example_program() {
    printf 'import CloakroomKit\nimport %s\nimport Foundation\n\nfunc example() async throws {\n' "$1"
    example_without_screens "$2" | sed '/^import /d'
    printf '}\n\ntry await example()\n'
}

# has_example ARTICLE: whether there is something to run.
has_example() { example_without_screens "$1" | grep -q .; }

# has_screens ARTICLE: whether some of its Swift needs SwiftUI.
has_screens() { grep -qx 'import SwiftUI' "$1"; }
