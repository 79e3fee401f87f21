import CloakroomCrypto
package import CloakroomKit
package import CloakroomTiers
package import Foundation
import Synchronization

/// One device's way to a ``ScriptedStore``: with faults by a ``TierScript``, and a gate that each call passes twice.
package final class ScriptedTier: ColdTier {
    package let store: ScriptedStore
    package let device: String
    package let script = TierScript()
    private let gate: TierGate
    /// `nil` when no account is signed in.
    private let account: Mutex<String?>
    private let failure = Mutex<CloakroomError?>(nil)

    package init(
        _ store: ScriptedStore, device: String = "device", account: String = "user",
        gate: @escaping TierGate = { _, _ in }
    ) {
        self.store = store
        self.device = device
        self.account = Mutex(account)
        self.gate = gate
    }

    /// - Parameter account: another user's; `nil` signs out.
    package func signIn(_ account: String?) { self.account.withLock { $0 = account } }
    /// What ``availability()`` says; the calls themselves go on as before.
    package func setUnavailable(_ error: CloakroomError?) { failure.withLock { $0 = error } }

    package static func identity(of account: String = "user") -> TierIdentity { ScriptedStore.identity(of: account) }

    private func signedIn() throws -> String {
        guard let account = account.withLock({ $0 }) else {
            throw CloakroomError(.unauthorized, "no account is signed in")
        }
        return account
    }

    /// Does what a call is to do, between its faults.
    private func perform<Value: Sendable>(
        _ kind: TierCall.Kind, _ subject: String = "",
        _ body: (String, TierScript.Fault?) async throws -> Value
    ) async throws -> Value {
        let call = TierCall(device: device, kind: kind, subject: subject)
        let fault = script.next(kind)
        try await gate(call, .before)
        if case .failBefore(let error) = fault { throw error }
        let account = try signedIn()
        store.count(call)
        let value = try await body(account, fault)
        try await gate(call, .after)
        if case .failAfter(let error) = fault { throw error }
        return value
    }

    package var identity: TierIdentity {
        get async throws { try await perform(.identity) { account, _ in ScriptedStore.identity(of: account) } }
    }

    package func availability() async -> TierAvailability {
        do {
            return try await perform(.availability) { account, _ in
                let used = store.account(account).byteCount
                let quota = store.state.withLock { $0.tellsQuota ? $0.quota : nil }
                return TierAvailability(
                    failure: failure.withLock { $0 },
                    quota: quota.map { TierAvailability.Quota(usedBytes: used, totalBytes: $0) })
            }
        } catch {
            return TierAvailability(failure: CloakroomError(of: error, otherwise: .unavailable))
        }
    }

    package func put(_ file: URL, _ photo: PhotoDescriptor, progress: TransferProgress.Observer?) async throws {
        try await perform(.put, photo.md5.hexadecimal) { account, _ in
            try store.put(try Data(contentsOf: file), photo, in: account)
            progress?(TransferProgress(bytesDone: photo.byteCount, bytesTotal: photo.byteCount))
        }
    }

    package func verify(_ photo: PhotoDescriptor, file: URL?) async throws -> ColdProof? {
        try await perform(.verify, photo.md5.hexadecimal) { account, _ in try store.verify(photo, in: account) }
    }

    package func fetch(_ photo: PhotoDescriptor, to file: URL, progress: TransferProgress.Observer?) async throws {
        try await perform(.fetch, photo.md5.hexadecimal) { account, fault in
            guard let object = store.account(account).objects[photo.md5.hexadecimal] else {
                throw CloakroomError(.noSuchObject, "there is no such photo", status: 404)
            }
            if object.isArchived { throw CloakroomError(.archived, "it is in an archive class") }
            try Self.write(object, of: photo, to: file, fault)
            progress?(TransferProgress(bytesDone: photo.byteCount, bytesTotal: photo.byteCount))
        }
    }

    /// Goes on where an earlier fetch stopped, as a ranged GET does.
    private static func write(
        _ object: ScriptedStore.Object, of photo: PhotoDescriptor, to file: URL, _ fault: TierScript.Fault?
    ) throws {
        let begun = (try? Data(contentsOf: file)) ?? Data()
        if case .half(let error) = fault {
            try (begun + object.bytes.dropFirst(begun.count).prefix(object.bytes.count / 2)).write(to: file)
            throw error
        }
        var bytes = begun + object.bytes.dropFirst(begun.count)
        if fault == .wrongBytes || fault == .wrongBytesUnnoticed { bytes.flipBit() }
        try bytes.write(to: file)
        guard fault == .wrongBytesUnnoticed || photo.describes(bytes) else {
            try FileManager.default.removeItem(at: file)
            throw CloakroomError(.checksumMismatch, "other bytes arrived than the photo's")
        }
    }

    package func delete(_ photo: PhotoDescriptor) async throws {
        try await perform(.delete, photo.md5.hexadecimal) { account, _ in
            store.change(account) { _ = $0.objects.removeValue(forKey: photo.md5.hexadecimal) }
        }
    }

    package func list() -> AsyncThrowingStream<ColdObject, any Error> {
        let (stream, continuation) = AsyncThrowingStream<ColdObject, any Error>.makeStream()
        let listing = Task {
            do {
                try await perform(.list) { account, fault in
                    let objects = store.account(account).objects.sorted { $0.key < $1.key }
                    for (number, (key, object)) in objects.enumerated() {
                        if case .half(let error) = fault, number >= objects.count / 2 { throw error }
                        continuation.yield(
                            ColdObject(
                                key: "photos/\(account)/\(key).dat", md5: [UInt8](hexadecimal: key.utf8) ?? [],
                                byteCount: Int64(object.bytes.count), isArchived: object.isArchived))
                    }
                    if case .half(let error) = fault { throw error }
                }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in listing.cancel() }
        return stream
    }
}

extension ScriptedTier {
    package func checkStays(thumbnailOf photo: PhotoDescriptor?, document name: String?) async throws {
        try await perform(.belongings, name ?? "") { account, _ in
            if store.account(account).documents.contains(where: { $0.key == name && $0.value.isExpiring }) {
                throw CloakroomError(.photoExpiring, "\(name ?? "") is going to be deleted")
            }
        }
    }

    package func putThumbnail(_ bytes: Data, of photo: PhotoDescriptor) async throws {
        try await perform(.putThumbnail, photo.md5.hexadecimal) { account, _ in
            store.change(account) { $0.thumbnails[photo.md5.hexadecimal] = bytes }
        }
    }

    package func thumbnail(of photo: PhotoDescriptor) async throws -> Data? {
        try await perform(.thumbnail, photo.md5.hexadecimal) { account, fault in
            var bytes = store.account(account).thumbnails[photo.md5.hexadecimal]
            if fault == .wrongBytes || fault == .wrongBytesUnnoticed { bytes?.flipBit() }
            return bytes
        }
    }

    package func deleteThumbnail(of photo: PhotoDescriptor) async throws {
        try await perform(.deleteThumbnail, photo.md5.hexadecimal) { account, _ in
            store.change(account) { $0.thumbnails[photo.md5.hexadecimal] = nil }
        }
    }

    package func documents() async throws -> DocumentListing {
        try await perform(.documents) { account, fault in
            if case .half(let error) = fault { throw error }
            let documents = store.account(account).documents.sorted { $0.key < $1.key }
            return DocumentListing(
                documents: documents.map { name, document in
                    .init(name: name, byteCount: Int64(document.bytes.count), modified: document.modified)
                },
                date: store.clock.now)
        }
    }

    package func putDocument(_ bytes: Data, named name: String) async throws {
        try await perform(.putDocument, name) { account, _ in
            store.change(account) { [date = store.clock.now] in
                $0.documents[name] = ScriptedStore.Document(bytes: bytes, modified: date)
            }
        }
    }

    package func document(named name: String) async throws -> Data? {
        try await perform(.document, name) { account, fault in
            var bytes = store.account(account).documents[name]?.bytes
            if fault == .wrongBytes || fault == .wrongBytesUnnoticed { bytes?.flipBit() }
            return bytes
        }
    }

    package func deleteDocument(named name: String) async throws {
        try await perform(.deleteDocument, name) { account, _ in
            store.change(account) { $0.documents[name] = nil }
        }
    }
}

extension Data {
    /// The lowest one of the byte in the middle.
    package mutating func flipBit() {
        guard !isEmpty else { return }
        self[startIndex + count / 2] ^= 1
    }
}
