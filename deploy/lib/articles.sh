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

# is_of_screens ARTICLE: whether its Swift needs SwiftUI.
is_of_screens() { grep -qx 'import SwiftUI' "$1"; }

# example_program LIBRARY ARTICLE: the same as a function `example`, in the main file of a program that calls it. Imports are at its top.
example_program() {
    printf 'import CloakroomKit\nimport %s\nimport Foundation\n\nfunc example() async throws {\n' "$1"
    example "$2" | sed '/^import /d'
    printf '}\n\ntry await example()\n'
}
