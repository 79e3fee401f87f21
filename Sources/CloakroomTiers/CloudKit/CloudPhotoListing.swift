import CloakroomCrypto
import Foundation

/// All photos of the zone, page by page, as they are consumed.
actor CloudPhotoListing {
    private let tier: CloudKitColdTier
    private var ready: [ColdObject] = []
    private var token: Data?
    private var isComplete = false
    /// A listing that begins anew has these again.
    private var listed: Set<String> = []
    private var restarts = 0

    init(_ tier: CloudKitColdTier) { self.tier = tier }

    /// - Returns: `nil` after the last one.
    func next() async throws -> ColdObject? {
        while ready.isEmpty, !isComplete {
            try await tier.converting("listing photos") { try await readPage() }
        }
        return ready.popLast()
    }

    private func readPage() async throws {
        let zone = tier.database.photoZone
        let response = try await tier.ifPresent(in: zone) { try await tier.database.changes(in: zone, since: token) }
        guard let response else {
            isComplete = true
            return
        }
        guard let page = response else {
            guard restarts < 3 else { throw CloudFault.changeTokenExpired }
            restarts += 1
            token = nil
            return
        }
        for (name, result) in page.changed {
            // A listing that leaves out what it could not read is none.
            let record = try result.get()
            guard record.kind == .photo, let md5 = Self.md5(in: name), listed.insert(name).inserted else { continue }
            ready.append(ColdObject(key: name, md5: md5, byteCount: record.byteCount))
        }
        token = page.token
        isComplete = !page.moreComing
    }

    private static func md5(in name: String) -> [UInt8]? {
        guard name.hasPrefix("photo-"), name.utf8.count == 38 else { return nil }
        return [UInt8](hexadecimal: name.utf8.dropFirst(6))
    }
}
