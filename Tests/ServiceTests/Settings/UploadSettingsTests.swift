import Testing

@testable import CloakroomServer

struct UploadSettingsTests {
    private func faults(_ uploads: String) -> [String] {
        do throws(SettingsErrors) {
            _ = try settings(smallest("uploads: {\(uploads)}"))
            return []
        } catch {
            return error.faults.map(\.description)
        }
    }

    @Test func `knows no uploads in parts without a key`() throws {
        #expect(try settings(smallest()).uploads.idKeys.isEmpty)
        #expect(try settings(smallest("uploads: {idKeys: [{env: \"SIGNING\"}]}")).uploads.idKeys.count == 1)
    }

    @Test func `makes other keys of a secret that also seals credentials`() throws {
        let keys = "[{env: \"SIGNING\"}]"
        let settings = try settings(
            smallest(
                "uploads: {idKeys: \(keys)}", vending: "credentialCache: {shared: {enabled: true, keys: \(keys)}}"))
        let sealed = settings.uploads.idKeys[0].seal([1, 2, 3], context: [])
        #expect(settings.vending.credentialCache.sharedKeys[0].open(sealed, context: []) == nil)
        #expect(settings.uploads.idKeys[0].open(sealed, context: []) == [1, 2, 3])
    }

    @Test(arguments: [
        ("lifetimeSeconds: 901", "uploads.lifetimeSeconds: is 901, out of range"),
        ("idKeys: []", "uploads.idKeys: has 0 keys"), ("idKeys: [\"plain\"]", "uploads.idKeys[0]: is a secret"),
        ("maximumBytes: 53687091200001", "uploads.maximumBytes: is 53687091200001, out of range"),
        ("requireContentLengths: true", "uploads.requireContentLengths: "),
        ("multipartLifetimeSeconds: 604801", "uploads.multipartLifetimeSeconds: is 604801, out of range"),
    ])
    func `finds what cannot be`(uploads: String, fault: String) {
        let faults = faults(uploads)
        #expect(faults.count == 1 && faults[0].hasPrefix(fault), "\(faults)")
    }
}
