import CloakroomLoop
import CloakroomRedis
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

/// What users share, in a real Redis.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct UserSharingTests {
    private let owner = UserID("u_1")!
    private let other = UserID("u_2")!
    private let time = Date(timeIntervalSince1970: 1_800_000_000)

    @LoopActor private func withRecords(
        _ body: @LoopActor (UserRecords, RedisConnection) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let time = time
        try await withRedis(server.path) { redis in
            try await body(UserRecords(redis: redis, keyPrefix: "c:", now: { time }), redis)
        }
    }

    private static func settings(_ more: String = "") throws -> Settings {
        let text = """
            {region: "eu-central-1", bucket: "photos", vending: {roleARN: "arn:aws:iam::000000000000:role/session", sharing: true},
             tokens: {issuers: [{issuer: "https://a.example", audiences: ["a"], secret: {env: "SIGNING"}}]}, \(more)}
            """
        return try Settings.load(
            file: "/settings.json5", environment: ["SIGNING": "u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae"]
        ) { $0 == "/settings.json5" ? Array(text.utf8) : nil }
    }

    private func folder(_ prefix: String = "photos/u_1/a/", of owner: UserID? = nil, for seconds: Double = 60) throws
        -> SharedFolder
    {
        try #require(
            SharedFolder(owner: owner ?? self.owner, prefix: prefix, end: time.addingTimeInterval(seconds)))
    }

    @LoopActor private func share(
        _ records: UserRecords, _ folder: SharedFolder, with user: UserID? = nil, _ settings: Settings? = nil
    ) async throws {
        _ = try await records.share(folder, with: user ?? other, settings ?? Self.settings(), now: time)
    }

    @LoopActor private func shared(_ records: UserRecords, with user: UserID? = nil) async throws -> [SharedFolder] {
        try await records.shares(with: user ?? other).shares.folders
    }

    @Test @LoopActor func `stands in both records, and makes nobody a known user`() async throws {
        try await withRecords { records, _ in
            try await share(records, try folder())
            #expect(try await shared(records) == [try folder()])
            #expect(try await records.recipients(of: owner).map(\.user) == [other])
            for user in [owner, other] { #expect(try await records.record(of: user) == nil) }
            var change = UserRecordChange()
            change.tier("free")
            try await records.apply(change, to: other)
            #expect(try await records.record(of: other)?.shares.folders == [try folder()])
        }
    }

    @Test @LoopActor func `shares one folder until another time, and forgets what is over`() async throws {
        try await withRecords { records, _ in
            try await share(records, try folder(for: 60))
            try await share(records, try folder("photos/u_1/b/", for: 60))
            try await share(records, try folder(for: 600))
            #expect(try await shared(records) == [try folder(for: 600), try folder("photos/u_1/b/", for: 60)])
            _ = try await records.share(
                try folder("photos/u_1/c/", for: 900), with: other, Self.settings(), now: time.addingTimeInterval(60))
            #expect(try await shared(records).map(\.prefix) == ["photos/u_1/a/", "photos/u_1/c/"])
            #expect(try await records.recipients(of: owner).count == 1)
        }
    }

    /// Credentials that are out know the former end.
    @Test @LoopActor func `says what it shares until an earlier time than before`() async throws {
        try await withRecords { records, _ in
            try await share(records, try folder("photos/u_1/b/", for: 900))
            for (seconds, former) in [(600, nil), (600, nil), (60, 600), (300, nil)] as [(Double, Double?)] {
                let shared = try await records.share(
                    try folder(for: seconds), with: other, Self.settings(), now: time)
                let expected = try former.map { try folder(for: $0) }
                #expect(shared.shortened == expected, "\(seconds)")
            }
        }
    }

    @Test @LoopActor func `unshares one folder or all, and only then forgets with whom`() async throws {
        try await withRecords { records, _ in
            for name in ["a", "b", "c"] { try await share(records, try folder("photos/u_1/\(name)/")) }
            #expect(
                try await records.unshare(owner, with: other, prefix: "photos/u_1/b/").folders.map(\.prefix) == [
                    "photos/u_1/b/"
                ])
            #expect(try await records.unshare(owner, with: other, prefix: "photos/u_1/").isEmpty)
            #expect(try await shared(records).map(\.prefix) == ["photos/u_1/a/", "photos/u_1/c/"])
            #expect(try await records.recipients(of: owner).count == 1)
            #expect(try await records.unshare(owner, with: other).folders.count == 2)
            #expect(try await shared(records).isEmpty)
            #expect(try await records.recipients(of: owner).isEmpty)
            #expect(try await records.unshare(owner, with: other).isEmpty)
        }
    }

    @Test @LoopActor func `ends both ways when a user is gone`() async throws {
        try await withRecords { records, redis in
            let third = try #require(UserID("u_3"))
            for user in [owner, third] {
                try await share(records, try folder("photos/\(user.text)/", of: user))
            }
            try await share(records, try folder("photos/u_2/", of: other), with: third)
            let ended = try await records.endSharing(of: other)
            #expect(ended.map(\.recipient) == [third, other, other])
            #expect(Set(ended.map(\.folder.prefix)) == ["photos/u_1/", "photos/u_2/", "photos/u_3/"])
            #expect(try await shared(records).isEmpty)
            #expect(try await shared(records, with: third).isEmpty)
            for user in [owner, other, third] { #expect(try await records.recipients(of: user).isEmpty) }
            #expect(try await records.endSharing(of: other).isEmpty)

            try await share(records, try folder())
            let deleted = try await records.delete(owner)
            #expect(try deleted.isDeleted && deleted.ended.map(\.folder) == [folder()])
            #expect(try await shared(records).isEmpty)
            try await share(records, try folder())
            #expect(try await records.delete(other).isDeleted)
            #expect(try await records.recipients(of: owner).isEmpty)
            _ = await redis.outcome("SET", "c:user:{u_9}", "x")
            let other = try #require(UserID("u_9"))
            #expect(try await records.delete(other).isDeleted)
        }
    }

    /// Each step of a share meets an end of it by another command.
    @Test @LoopActor func `shares nothing that was ended while it was being shared`() async throws {
        try await withRecords { records, _ in
            // The owner is disabled between the look at the recipient's record and the change of it.
            try await records.beginShares(with: other)
            let (_, revision) = try await records.shares(with: other)
            #expect(try await records.announceShare(of: owner, with: other) == .done)
            try await records.disable(owner, reason: "test")
            _ = try await records.endSharing(of: owner)
            let shares = UserRecord.Shares([try folder()])
            #expect(try await records.setShares(shares, with: other, revision: revision) == .changed)
            #expect(try await shared(records).isEmpty)
            #expect(try await records.announceShare(of: owner, with: other) == .disabled)

            // Nor where the recipient's record is deleted besides, which leaves no revision.
            let third = UserID("u_3")!
            try await records.beginShares(with: third)
            let begun = try await records.shares(with: third).revision
            #expect(try await records.announceShare(of: other, with: third) == .done)
            #expect(try await records.endSharing(of: other).isEmpty)
            _ = try await records.delete(third)
            #expect(try await records.setShares(shares, with: third, revision: begun) == .changed)
            #expect(try await records.setShares(shares, with: third, revision: "") == .changed)

            // An end that began before a share does not forget what the share announces.
            let fourth = try #require(UserID("u_4"))
            let entry = try await records.recipients(of: fourth)
            try await share(records, try folder("photos/u_4/", of: fourth))
            #expect(entry.isEmpty)
            #expect(try await records.recipients(of: fourth).map(\.user) == [other])
        }
    }

    @Test @LoopActor func `one record that cannot be read keeps no other share open`() async throws {
        try await withRecords { records, redis in
            let (third, fourth) = (UserID("u_3")!, UserID("u_4")!)
            for user in [third, other, fourth] { try await share(records, try folder(), with: user) }
            _ = await redis.outcome("SET", "c:user:{u_2}", "x")
            let error = await #expect(throws: UserRecords.UnendedSharing.self) {
                try await records.endSharing(of: owner)
            }
            #expect(error?.users == [other] && error?.error == .malformed(nil))
            #expect(error?.ended.map(\.recipient) == [third, fourth], "what was ended is told all the same")
            // Nor does an owner's.
            let fifth = UserID("u_5")!
            try await share(records, try folder("photos/u_5/", of: fifth), with: third)
            _ = await redis.outcome("SET", "c:user:{u_5}", "x")
            #expect(try await records.unshare(fifth, with: third).folders.count == 1)
            for user in [third, fourth] { #expect(try await shared(records, with: user).isEmpty) }
            await #expect(throws: UserRecords.UnendedSharing.self) { try await records.delete(owner) }
            #expect(try await records.recipients(of: owner).map(\.user) == [other], "it still leads there")
            #expect(try await records.delete(other).isDeleted)
            #expect(try await records.endSharing(of: owner).isEmpty)
            _ = await redis.outcome("HSET", "c:user:{u_1}", "sharedWith", "junk")
            #expect(try await records.endSharing(of: owner).isEmpty)
            #expect(try await records.delete(owner).isDeleted == false)
        }
    }

    @Test @LoopActor func `those with whom nothing is shared any more make room for others`() async throws {
        try await withRecords { records, redis in
            let words = (0..<UserRecords.maximumRecipients).map { "g_\($0)/0" }.joined(separator: " ")
            _ = await redis.outcome("HSET", "c:user:{u_1}", "sharedWith", words)
            try await share(records, try folder())
            #expect(try await records.recipients(of: owner).map(\.user) == [other])
            #expect(try await records.unshare(owner, with: UserID("typo")!).isEmpty)
            #expect(await redis.outcome("EXISTS", "c:user:{typo}") == .success(.integer(0)))
        }
    }

    /// One that is being shared with by another command has nothing yet, as one that has nothing any more.
    @Test @LoopActor func `room for others is made of nobody with whom something is being shared`() async throws {
        try await withRecords { records, redis in
            try await records.beginShares(with: other)
            let revision = try await records.shares(with: other).revision
            #expect(try await records.announceShare(of: owner, with: other) == .done)
            #expect(try await records.forgetFormerRecipients(of: owner, at: time) == 1)
            let shares = UserRecord.Shares([try folder()])
            #expect(try await records.setShares(shares, with: other, revision: revision) == .changed)
            // What is over is taken out, and what is not stays, with who has it.
            let third = UserID("u_3")!
            try await share(records, try folder(for: 60))
            try await share(records, try folder(for: 60), with: third)
            try await share(records, try folder("photos/u_1/b/", for: 600), with: third)
            let later = time.addingTimeInterval(60)
            #expect(try await records.forgetFormerRecipients(of: owner, at: later) == 1)
            #expect(try await shared(records).isEmpty)
            #expect(try await shared(records, with: third).count == 2)
            #expect(try await records.recipients(of: owner).map(\.user) == [third])
        }
    }

    /// The first of two cannot be read, whatever is done; the other may be, later.
    @Test @LoopActor func `of two failures the one that may pass is told`() async throws {
        try await withRecords { records, redis in
            for user in [other, UserID("u_3")!] { try await share(records, try folder(), with: user) }
            _ = await redis.outcome("SET", "c:user:{u_2}", "x")
            let failing = UserRecords(
                redis: redis, keyPrefix: "c:",
                sender: { call, key throws(RedisError) in
                    guard key != "c:user:{u_3}" else { throw .timeout }
                    return try await redis.run(call)
                })
            let error = await #expect(throws: UserRecords.UnendedSharing.self) {
                try await failing.endSharing(of: owner)
            }
            #expect(error?.users.count == 2 && error?.error == .redis(.timeout))
        }
    }

    @Test @LoopActor func `a folder that has room in a smaller scope alone is shared for that`() async throws {
        try await withRecords { records, _ in
            let (one, two) = (
                UserID("u_3fa85f64-4567-89ab-cdef-0123456789ab")!, UserID("u_9ba85f64-1567-a9ab-cfef-0123456789a1")!
            )
            let prefix = "photos/\(one.text)/albums/" + UUID().uuidString.lowercased() + "/"
            let folder = try folder(prefix, of: one)
            let shared = try await records.share(folder, with: two, Self.settings(), now: time)
            #expect(shared.scopes == ["read"])
        }
    }

    @Test @LoopActor func `two at once keep both`() async throws {
        try await withRecords { records, _ in
            async let first: Void = share(records, try folder("photos/u_1/a/"))
            async let second: Void = share(records, try folder("photos/u_1/b/"))
            _ = try await (first, second)
            #expect(Set(try await shared(records).map(\.prefix)) == ["photos/u_1/a/", "photos/u_1/b/"])
        }
    }

    @Test @LoopActor func `refuses what could not be opened, and leaves the records alone`() async throws {
        try await withRecords { records, redis in
            func refusal(
                _ folder: SharedFolder, with user: UserID? = nil, _ settings: Settings? = nil
            ) async -> ShareRefusal? {
                do {
                    try await share(records, folder, with: user, settings)
                    return nil
                } catch { return error as? ShareRefusal }
            }
            #expect(await refusal(try folder(), with: owner) == .sameUser)
            #expect(
                await refusal(try folder("photos/u_10/"))
                    == .place(folders: ["metadata/u_1/", "photos/u_1/", "thumbnails/u_1/"]))
            #expect(await refusal(try folder(for: 0)) == .tooShort(until: time))
            let strict = try Self.settings(#"entitlements: {withoutRecord: "refuse"}"#)
            #expect(await refusal(try folder(), strict) == .recipientUnknown)
            let uploads = try Self.settings(#"tiers: {free: {scope: "upload"}}"#)
            #expect(await refusal(try folder(), uploads) == .unread(tiers: ["free"]))
            let long = (1...6).map { _ in UUID().uuidString }.joined()
            #expect(await refusal(try folder("photos/u_1/\(long)/")) == .tooLarge(tier: "free", besidesOthers: false))
            #expect(await redis.outcome("KEYS", "*") == .success(.array([])))
            for number in 3...6 {
                let user = try #require(UserID("u_\(number)"))
                try await share(records, try folder("photos/\(user.text)/", of: user))
            }
            #expect(await refusal(try folder("photos/u_1/albums/spring-5/")) == .tooManyOwners)
            try await records.disable(other, reason: "test")
            let third = try #require(UserID("u_3"))
            #expect(await refusal(try folder("photos/u_3/b/", of: third)) == .recipientDisabled)
        }
    }
}
