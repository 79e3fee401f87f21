# shellcheck shell=bash
# For sourcing: the Swift in articles.

# What makes a block a screen: that it imports one of these.
screens='import (SwiftUI|UIKit|AVFoundation|AuthenticationServices)'

# example_of_screens ARTICLE: all its blocks of Swift, in their order, and what they take for granted: `<!-- example … -->`. Where
# `<!-- screens … -->` says what the screens take for granted, these alone: what else there is are statements.
example_of_screens() {
    awk -v screen="(^|\n)$screens\n" -v alone="$(has_statements "$1" && echo 1)" '
        /^<!-- (example|screens)/ { hidden = 1; kept = alone ? /screens/ : /example/; next }
        hidden && /-->/ { hidden = 0; next }
        hidden && kept { print }
        hidden { next }
        /^```swift/ { shown = 1; next }
        /^```/ { if (!alone || block ~ screen) printf "%s", block; block = ""; shown = 0; next }
        shown { block = block $0 "\n" }
    ' "$1"
}

# example_without_screens ARTICLE: the same up to the first screen, or without those that take something else for granted, and
# then what runs it: `<!-- run … -->`.
example_without_screens() {
    awk -v screen="(^|\n)$screens\n" -v alone="$(has_statements "$1" && echo 1)" '
        function end() {
            if (block ~ screen) { if (!alone) screens = 1 } else if (!screens) printf "%s", block
            block = ""
        }
        /^<!-- screens/ { ignored = 1; next }
        ignored { if (/-->/) ignored = 0; next }
        /^<!-- (example|run)/ { hidden = 1; runs = /run/; next }
        hidden && /-->/ { hidden = 0; next }
        hidden && runs { calls = calls $0 "\n"; next }
        hidden { if (!screens) print; next }
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
has_example() { [[ -n $(example_without_screens "$1") ]]; }

# has_screens ARTICLE: whether some of its Swift is for Apple's systems alone.
has_screens() { grep -qxE "$screens" "$1"; }

# has_statements ARTICLE: whether its screens take for granted something else than what stands before them.
has_statements() { grep -q '^<!-- screens' "$1"; }

# plain_swift ARTICLE…: the lines of blocks without a language that look like Swift, which no check compiles.
plain_swift() {
    awk '
        FNR == 1 { open = 0 }
        /^ *```/ { open = !open; plain = /^ *```$/; next }
        open && plain && /^ *(@[A-Za-z]+ +)*((public|private|static|final) +)*(func|struct|class|actor|enum|let|var) / {
            print FILENAME ":" FNR ": " $0
        }
    ' "$@"
}
