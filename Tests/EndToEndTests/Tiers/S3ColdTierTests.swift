import CloakroomCrypto
import CloakroomKit
import CloakroomTiers
import Foundation
import Testing

extension EndToEnd {
    /// A cold tier whose credentials the worker vends, on both stores.
    @Suite struct S3ColdTiers {
        @Test func `photos are stored, proven, listed and fetched on SeaweedFS`() async throws {
            try await TierStack.onSeaweedFS("tier-photos") { try await Self.checkPhotos($0) }
        }

        @Test func `photos are stored, proven, listed and fetched on Ceph`() async throws {
            try await TierStack.onCeph("tier-photos-ceph") { try await Self.checkPhotos($0) }
        }

        @Test func `documents and thumbnails come back as they were on SeaweedFS, with the store's time`() async throws
        {
            try await TierStack.onSeaweedFS("tier-documents") { try await Self.checkDocuments($0) }
        }

        @Test func `documents and thumbnails come back as they were on Ceph, with the store's time`() async throws {
            try await TierStack.onCeph("tier-documents-ceph") { try await Self.checkDocuments($0) }
        }

        @Test func `a rule that is added later ends the proof on Ceph, and is named`() async throws {
            try await TierStack.onCeph("tier-rule-ceph") { stack in
                let ceph = try EndToEnd.ceph()
                let (photo, file) = try stack.photo(40_000)
                try await stack.tier.put(file, photo, progress: nil)
                let proof = try #require(try await stack.tier.verify(photo, file: file))
                var proven = photo
                proven.provenTag = proof.tag
                try await ceph.withRule(prefix: stack.layout.photos, days: 1000) {
                    let error = try await cloakroomError { _ = try await stack.tier.verify(proven, file: file) }
                    #expect(error?.code == .photoExpiring)
                    #expect(error?.message.contains(#"rule-id="test""#) == true, "\(error?.message ?? "")")
                    let thumbnails = stack.layout.thumbnails
                    #expect(error?.message.contains(thumbnails) == false)
                }
                try await ceph.withRule(prefix: "elsewhere/", days: 1000) {
                    let again = try await stack.tier.verify(proven, file: file)
                    #expect(again?.tag == proof.tag)
                }
            }
        }

        /// Its operator has to promise that there is none.
        @Test func `a rule on SeaweedFS shows in no response`() async throws {
            try await TierStack.onSeaweedFS("tier-rule") { stack in
                let (photo, file) = try stack.photo(40_000)
                try await stack.tier.put(file, photo, progress: nil)
                let rule =
                    "<Rule><ID>tiers</ID><Filter><Prefix>\(stack.layout.photos)</Prefix></Filter>"
                    + "<Status>Enabled</Status><Expiration><Days>1000</Days></Expiration></Rule>"
                let store = try EndToEnd.s3()
                let body = "<LifecycleConfiguration>\(rule)</LifecycleConfiguration>"
                #expect(try store.ask("PUT", "?lifecycle=", body: body).status == 200)
                defer { _ = try? store.ask("DELETE", "?lifecycle=") }
                #expect(try store.ask("GET", "?lifecycle=").text.contains("<ID>tiers</ID>"))
                let later = try stack.photo(40_001)
                try await stack.tier.put(later.file, later.photo, progress: nil)
                for photo in [photo, later.photo] {
                    let response = try store.head(try stack.key(photo))
                    #expect(response.status == 200 && response.fields["x-amz-expiration"] == nil, "\(response.fields)")
                    #expect(try await stack.tier.verify(photo, file: nil) != nil)
                }
            }
        }

        @Test func `a photo that another client stored is proven by reading it back once`() async throws {
            for run in [TierStack.onSeaweedFS, TierStack.onCeph] {
                try await run("tier-foreign") { stack in
                    let (photo, file) = try stack.photo(70_000)
                    try await stack.client.put(try Data(contentsOf: file), to: try stack.key(photo))
                    try await stack.tier.put(file, photo, progress: nil)
                    await stack.transport.forget()
                    let proof = try #require(try await stack.tier.verify(photo, file: file))
                    #expect(await stack.transport.methods == ["HEAD", "GET"])
                    var proven = photo
                    proven.provenTag = proof.tag
                    #expect(try await stack.tier.verify(proven, file: nil)?.tag == proof.tag)
                    #expect(await stack.transport.methods == ["HEAD", "GET", "HEAD"])
                }
            }
        }

        @Test func `a photo of the backup stays when the tier deletes its own`() async throws {
            for run in [TierStack.onSeaweedFS, TierStack.onCeph] {
                try await run("tier-backup") { stack in
                    let folder = try stack.folder("source")
                    let (photo, file) = try stack.photo(71_000, in: folder)
                    try await stack.tier.put(file, photo, progress: nil)
                    let backup = PhotoBackup(client: stack.client, layout: stack.layout)
                    #expect(await backup.backUp(folder: folder).backedUp == 1)
                    try await stack.tier.delete(photo)
                    let restored = try stack.folder("restored")
                    let report = await PhotoRestore(client: stack.client, layout: stack.layout).restore(to: restored)
                    #expect(report.restored == 1, "\(report)")
                    let bytes = try Data(contentsOf: restored.appendingPathComponent("\(photo.md5.hexadecimal).jpg"))
                    #expect(try bytes == Data(contentsOf: file))
                }
            }
        }

        private static func checkPhotos(_ stack: TierStack) async throws {
            let tier = stack.tier
            #expect(await tier.availability() == TierAvailability())
            let (photo, file) = try stack.photo(150_000)
            #expect(try await tier.verify(photo, file: file) == nil)
            await stack.transport.forget()
            try await tier.put(file, photo, progress: nil)
            try await tier.putThumbnail(Data("thumbnail".utf8), of: photo)
            let proof = try #require(try await tier.verify(photo, file: file))
            #expect(await stack.transport.methods == ["PUT", "PUT", "HEAD"])
            #expect(proof.identity == TierIdentity("s3:\(stack.endpoint)/\(stack.bucket)/\(stack.layout.userID)"))
            #expect(try proof.key == stack.key(photo) && proof.tag == "\"\(photo.md5.hexadecimal)\"", "\(proof.tag)")
            #expect(abs(try #require(proof.date).timeIntervalSinceNow) < 60)
            // Once more: the store knows conditions.
            try await tier.put(file, photo, progress: nil)
            #expect(await stack.transport.methods.suffix(2) == ["PUT", "HEAD"])

            await stack.transport.forget()
            let cold = stack.url("cold.jpg")
            try await tier.fetch(photo, to: cold, progress: nil)
            #expect(try Data(contentsOf: cold) == Data(contentsOf: file))
            #expect(await stack.transport.methods == ["GET"])

            let (film, large) = try stack.photo(12_000_011)
            try await tier.put(large, film, progress: nil)
            await stack.transport.forget()
            #expect(try await tier.verify(film, file: large)?.tag.hasSuffix("-3\"") == true)
            #expect(await stack.transport.methods == ["HEAD"])
            #expect(try await tier.verify(film, file: nil) != nil)
            #expect(await stack.transport.methods == ["HEAD", "HEAD", "GET", "GET", "GET"])
            try await tier.fetch(film, to: cold, progress: nil)
            #expect(try Data(contentsOf: cold) == Data(contentsOf: large))

            var listed: [ColdObject] = []
            for try await object in tier.list() { listed.append(object) }
            let expected = try [photo, film].map {
                ColdObject(key: try stack.key($0), md5: $0.md5, byteCount: $0.byteCount)
            }
            #expect(listed == expected.sorted { $0.key < $1.key })

            // Other bytes of the same size, by a client that overwrites.
            var other = Data(try Data(contentsOf: file))
            other[0] ^= 1
            try await stack.client.put(other, to: try stack.key(photo))
            for _ in 0..<2 {
                #expect(
                    try await cloakroomError { _ = try await tier.verify(photo, file: file) }?.code == .photoCollision)
            }
            #expect(
                try await cloakroomError { try await tier.fetch(photo, to: cold, progress: nil) }?.code
                    == .checksumMismatch)
            #expect(try Data(contentsOf: cold) == Data(contentsOf: large))

            // Not absent for one who may not read it.
            try stack.putAsOperator("photos/u_someone_else/tiers/\(photo.md5.hexadecimal).dat")
            let foreign = S3ColdTier(client: stack.client, layout: try PhotoLayout(userID: "u_someone_else"))
            let refusal = try await cloakroomError { _ = try await foreign.verify(photo, file: nil) }
            #expect(refusal?.code == .accessDenied, "\(String(describing: refusal))")
            #expect(try await cloakroomError { for try await _ in foreign.list() {} }?.code == .accessDenied)
            for _ in 0..<2 { try await tier.delete(photo) }
            #expect(try await tier.verify(photo, file: file) == nil)
            #expect(
                try await cloakroomError { try await tier.fetch(photo, to: cold, progress: nil) }?.code
                    == .noSuchObject)
        }

        private static func checkDocuments(_ stack: TierStack) async throws {
            let tier = stack.tier
            let large = Data((0..<9_000_000).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 9) })
            try await tier.putDocument(Data("1".utf8), named: "a.json")
            try await tier.putDocument(Data("2".utf8), named: "a.json")
            try await tier.putDocument(large, named: "b_-.2")
            try await tier.putDocument(Data(), named: "empty")
            try await stack.client.put(Data(), to: stack.layout.catalogs + "below/a.json")
            let listing = try await tier.documents()
            #expect(listing.documents.map(\.name).sorted() == ["a.json", "b_-.2", "empty"])
            #expect(listing.documents.map(\.byteCount).sorted() == [0, 1, 9_000_000])
            let date = try #require(listing.date)
            #expect(abs(date.timeIntervalSinceNow) < 60)
            // Both by the store's clock.
            #expect(listing.documents.allSatisfy { (-1...60).contains(date.timeIntervalSince($0.modified)) })
            #expect(try await tier.document(named: "a.json") == Data("2".utf8))
            #expect(try await tier.document(named: "b_-.2") == large)
            #expect(try await tier.document(named: "empty") == Data())
            #expect(try await tier.document(named: "none") == nil)
            for name in ["a.json", "a.json", "b_-.2", "empty"] { try await tier.deleteDocument(named: name) }
            #expect(try await tier.documents().documents.isEmpty)

            let photo = try stack.photo(10).photo
            #expect(try await tier.thumbnail(of: photo) == nil)
            try await tier.putThumbnail(Data("thumbnail".utf8), of: photo)
            #expect(try await tier.thumbnail(of: photo) == Data("thumbnail".utf8))
            try await tier.deleteThumbnail(of: photo)
            #expect(try await tier.thumbnail(of: photo) == nil)
        }
    }
}
