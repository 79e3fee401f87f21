import Testing

@testable import CloakroomKit

struct PhotoLayoutTests {
    private let md5 = "5d41402abc4b2a76b9719d911017c592"

    @Test func `lays out a user's objects`() throws {
        let layout = try PhotoLayout(userID: "u_1")
        #expect(
            try [
                layout.photo(md5: md5), layout.thumbnail(md5: md5), layout.metadata(named: "2026.json"),
                layout.catalog(named: "a-b"), layout.profile,
            ] == [
                "photos/u_1/\(md5).dat", "thumbnails/u_1/\(md5).jpg", "metadata/u_1/2026.json", "catalogs/u_1/a-b",
                "users/u_1/profile.json",
            ])
        #expect(layout.md5(ofPhoto: "photos/u_1/\(md5).dat") == md5)
    }

    @Test(arguments: ["", "u/1", "..", "u 1", "ü", "*", "${a}", String(repeating: "u", count: 65)])
    func `refuses user ids that would lead elsewhere`(userID: String) {
        #expect(throws: CloakroomError.self) { try PhotoLayout(userID: userID) }
    }

    @Test(arguments: ["", "..", ".a", "a/b", "a b", "a\n", "é", String(repeating: "n", count: 201)])
    func `refuses names that would lead elsewhere`(name: String) throws {
        let layout = try PhotoLayout(userID: "u_1")
        #expect(throws: CloakroomError.self) { try layout.metadata(named: name) }
        #expect(throws: CloakroomError.self) { try layout.catalog(named: name) }
        #expect(throws: CloakroomError.self) { try layout.photo(md5: name) }
    }

    @Test func `knows its photos from other keys`() throws {
        let layout = try PhotoLayout(userID: "u_1")
        for key in [
            "photos/u_10/\(md5).dat", "photos/u_1/\(md5).jpg", "photos/u_1/\(md5.uppercased()).dat", "photos/u_1/.dat",
        ] {
            #expect(layout.md5(ofPhoto: key) == nil)
        }
    }
}
