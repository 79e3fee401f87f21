import CloakroomHTTP
import Testing

@testable import CloakroomAWS

struct ListingProgressTests {
    private func page(_ keys: [String], folders: [String] = [], next: String?) throws -> ObjectPage {
        let entries = keys.map { "<Contents><Key>\($0)</Key><Size>1</Size></Contents>" }
        let prefixes = folders.map { "<CommonPrefixes><Prefix>\($0)</Prefix></CommonPrefixes>" }
        return try ObjectPage(Self.response("ListBucketResult", entries + prefixes, next.map(Self.token)), prefix: "")
    }

    private static func token(_ text: String) -> String { "<NextContinuationToken>\(text)</NextContinuationToken>" }

    private static func response(_ name: String, _ contents: [String], _ next: String?) -> UpstreamResponse {
        let more = next.map { "<IsTruncated>true</IsTruncated>\($0)" } ?? ""
        return .xml(200, "<\(name)>\(contents.joined())\(more)</\(name)>")
    }

    /// - Returns: after how many pages it is noticed that there is no end; `nil` when it is not.
    private func end(_ pages: Int, _ page: (Int) throws -> ObjectPage) rethrows -> Int? {
        var progress = ListingProgress()
        for number in 0..<pages where try !progress.advances(page(number)) { return number + 1 }
        return nil
    }

    @Test func `a listing in any order comes to its end`() throws {
        // Directory buckets give no order; folders may come before what precedes them.
        let keys = (0..<2000).map { "\($0 * 7919 % 2000)/\($0)" }
        #expect(
            try end(1000) { number in
                try page([keys[2 * number], keys[2 * number + 1]], next: number < 999 ? "t\(number)" : nil)
            } == nil)
    }

    @Test(arguments: [1, 2, 3, 7, 50]) func `pages in a circle are noticed, whatever their tokens`(length: Int) throws {
        let pages = 4 * length + 2
        #expect(try end(pages) { try page(["k\($0 % length)", "x"], next: "t\($0)") } != nil)
        #expect(try end(pages) { try page(["k\($0)"], next: "t\($0 % length)") } != nil)
        #expect(try end(pages) { try page([], folders: ["a\($0 % length)/", "b/"], next: "t\($0)") } != nil)
    }

    @Test func `keys and tokens that are equal to Swift, and not by their bytes, are two`() throws {
        let names = ["e\u{301}", "\u{e9}", "x"]
        #expect(names[0] == names[1])
        #expect(try end(3) { try page([names[$0]], next: $0 < 2 ? "t\($0)" : nil) } == nil)
        #expect(try end(3) { try page(["k\($0)"], next: $0 < 2 ? names[$0] : nil) } == nil)
        // The second page is remembered until the fourth.
        let tokens: [String?] = ["t", names[0], "u", names[1], nil]
        #expect(try end(5) { try page(["k\($0)"], next: tokens[$0]) } == nil)
    }

    @Test func `a folder may come again on the next page`() throws {
        #expect(try end(9) { try page([], folders: ["a/"], next: $0 < 8 ? "t\($0)" : nil) } == nil)
    }

    @Test func `pages may be empty for long, but not for ever`() {
        func end(_ pages: Int, notEmpty other: Int? = nil) -> Int? {
            var progress = ListingProgress()
            for number in 0..<pages {
                let names = number == other ? ["a"] : []
                guard progress.advances(names, isEmpty: names.isEmpty, next: "t\(number)") else { return number + 1 }
            }
            return nil
        }
        #expect(end(10_000) == nil)
        #expect(end(20_000, notEmpty: 9999) == nil)
        #expect(end(20_000) == 10_001)
    }

    @Test func `versions of one key may fill any number of pages, but each comes once`() throws {
        func end(_ version: (Int) -> String) throws -> Int? {
            var progress = ListingProgress()
            for number in 0..<20 {
                let entry = "<Version><Key>a</Key><VersionId>\(version(number))</VersionId><Size>1</Size></Version>"
                let next = "<NextKeyMarker>a</NextKeyMarker><NextVersionIdMarker>m\(number)</NextVersionIdMarker>"
                let page = try VersionPage(Self.response("ListVersionsResult", [entry], next), prefix: "")
                guard progress.advances(page) else { return number + 1 }
            }
            return nil
        }
        #expect(try end { "v\($0)" } == nil)
        #expect(try end { "v\($0 % 3)" } != nil)
        #expect(try end { _ in "" } == nil)
    }
}
