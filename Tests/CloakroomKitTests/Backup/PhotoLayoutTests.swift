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

    private func vended(_ userID: String?, _ prefixes: [String: String]?) -> VendedCredentials {
        VendedCredentials(
            accessKeyID: "ASIA", secretAccessKey: "s", sessionToken: "t", expiration: .distantFuture,
            region: "eu-central-1", bucket: "b", userID: userID, prefixes: prefixes)
    }

    @Test func `lies where the credentials say`() throws {
        let layout = try PhotoLayout(
            vended: vended("u_1", ["photos": "a/photos/u_1/", "thumbnails": "t/u_1/", "users": "users/u_1/"]))
        #expect(
            [layout.userID, layout.photos, layout.thumbnails, layout.metadata, layout.catalogs, layout.profile] == [
                "u_1", "a/photos/u_1/", "t/u_1/", "metadata/u_1/", "catalogs/u_1/", "users/u_1/profile.json",
            ])
        #expect(layout.md5(ofPhoto: "a/photos/u_1/\(md5).dat") == md5)
        #expect(throws: CloakroomError.self) { try PhotoLayout(vended: vended("u_1", ["films": "films/u_1/"])) }
    }

    @Test func `is the usual one of the session's user where the worker sends neither`() throws {
        #expect(try PhotoLayout(vended: vended(nil, nil), userID: "u_1") == PhotoLayout(userID: "u_1"))
        #expect(throws: CloakroomError.self) { try PhotoLayout(vended: vended(nil, nil)) }
    }

    @Test(arguments: [
        "", "/", "photos", "/photos/", "a//", "../", "a/../b/", "a/./", "a\n/", "a\u{7F}/", "a\u{85}/",
        String(repeating: "a", count: 1024) + "/",
    ])
    func `refuses prefixes that would lead elsewhere, from any vendor`(prefix: String) async {
        let credentials = vended("u_1", ["photos": "photos/u_1/", "films": prefix])
        #expect(throws: CloakroomError.self) { try PhotoLayout(vended: credentials) }
        let provider = CredentialProvider(vendor: ScriptedVendor { _ in credentials }, runtime: FakeRuntime().runtime)
        let error = await #expect(throws: CloakroomError.self) { try await provider.credentials() }
        #expect(error?.code == .invalidResponse)
    }

    @Test func `refuses a vended user id that would lead elsewhere`() {
        #expect(throws: CloakroomError.self) { try vended("../u_1", nil).checked() }
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
