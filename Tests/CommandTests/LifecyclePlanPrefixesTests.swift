import Testing

@testable import CloakroomCommand

struct LifecyclePlanPrefixesTests {
    @Test(
        arguments: [
            ("backups/", ["backups/"]), ("backups/,exports/old/", ["backups/", "exports/old/"]),
            ("my photos/", ["my photos/"]), ("backups", nil), ("", nil), ("/", nil), ("/backups/", nil),
            ("backups/, exports/", nil), ("\tbackups/", nil), ("\u{A0}backups/", nil), ("backups/,", nil),
            ("backups/ ", nil),
        ] as [(String, [String]?)])
    func `keeps folders that end in a slash and begin with neither one nor white space`(
        text: String, expected: [String]?
    ) {
        #expect(LifecyclePlanPrefixes.folders(text) == expected)
    }
}
