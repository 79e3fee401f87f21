import CloakroomLoop
@testable import CloakroomRedis
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

/// Whether what is shared, and that it is no longer, would outlast the master.
@Suite(.onLoop, .timeLimit(.minutes(2)))
struct SharingReplicationTests {
    private let owner = UserID("u_1")!
    private let other = UserID("u_2")!
    private let third = UserID("u_3")!
    private let time = Date(timeIntervalSince1970: 1_800_000_000)

    @Test @LoopActor func `says on how many replicas the end of a share is`() async throws {
        try await withShareOnReplica { cluster, redis in
            let records = records(redis)
            cluster.pause(cluster.servers[1])
            let (ended, replication) = try await records.unshareReplicated(owner, with: other, hasFailover: true)
            #expect(ended.folders.count == 1 && replication == .replicas(reached: 0, of: 1))
            cluster.resume(cluster.servers[1])
            #expect(
                await becomes {
                    let again = try? await records.unshareReplicated(owner, with: other, hasFailover: true)
                    return again?.ended.isEmpty == true && again?.replication == .replicas(reached: 1, of: 1)
                })
        }
    }

    @Test @LoopActor func `says nothing of replicas where none is to be`() async throws {
        try await withMasters { former, _ in
            let records = records(former)
            let (ended, replication) = try await records.unshareReplicated(owner, with: other, hasFailover: false)
            #expect(ended.folders.count == 1 && replication == nil)
        }
    }

    /// The former master had ended it, in so many requests; the next one never heard of it.
    @Test @LoopActor func `ends a share again that a failover brought back`() async throws {
        try await withMasters { former, next in
            let moved = records(MovedRedis(former, next, after: 6, loss: .none))
            let (ended, replication) = try await moved.unshareReplicated(owner, with: other, hasFailover: true)
            #expect(ended.folders.count == 1 && replication == .noReplicas)
            for records in [records(former), records(next)] {
                #expect(try await records.shares(with: other).shares.folders.isEmpty)
                #expect(try await records.recipients(of: owner).isEmpty)
                #expect(try await records.shares(with: owner).shares.folders.count == 1)
            }
        }
    }

    @Test @LoopActor func `ends all again that a failover brought back`() async throws {
        try await withMasters { former, next in
            let moved = records(MovedRedis(former, next, after: 10, loss: .none))
            let (ended, replication) = try await moved.endSharingReplicated(of: owner, hasFailover: true)
            #expect(ended.map(\.recipient) == [other, owner] && replication == .noReplicas)
            for records in [records(former), records(next)] {
                for user in [owner, other] { #expect(try await records.shares(with: user).shares.folders.isEmpty) }
            }
            for user in [owner, third] { #expect(try await records(next).recipients(of: user).isEmpty) }
        }
    }

    /// With the share it would come back, and the folder would be open again.
    @Test(arguments: [5, 10, 12, 15])
    @LoopActor func `deletes a record again that a failover brought back`(requests: Int) async throws {
        try await withMasters { former, next in
            let moved = records(MovedRedis(former, next, after: requests, loss: .none))
            let (isDeleted, ended, replication) = try await moved.deleteReplicated(owner, hasFailover: true)
            #expect(isDeleted == true && replication == .noReplicas)
            #expect(Set(ended.map(\.recipient)) == [other, owner])
            #expect(try await records(next).record(of: owner) == nil)
            #expect(try await records(next).shares(with: other).shares.folders.isEmpty)
            #expect(try await records(next).deleteReplicated(owner, hasFailover: true).isDeleted == false)
        }
    }

    @Test @LoopActor func `shares again what a failover lost`() async throws {
        try await withMasters { former, next in
            let album = try folder("photos/u_1/b/")
            let moved = records(MovedRedis(former, next, after: 7, loss: .none))
            let (scopes, _, replication) = try await moved.shareReplicated(
                album, with: other, Self.settings(), now: time)
            #expect(!scopes.isEmpty && replication == .noReplicas)
            for records in [records(former), records(next)] {
                #expect(try await records.shares(with: other).shares.folders.contains(album))
            }
        }
    }

    /// In a cluster each half is on a server of its own: a failover of the owner's takes the announcement alone. The
    /// repetition finds the end that was written in place of a later one.
    @Test @LoopActor func `shares again what a failover lost of the owner's record`() async throws {
        try await withMasters { former, _ in
            let later = try folder()
            let album = try #require(
                SharedFolder(owner: owner, prefix: later.prefix, end: time.addingTimeInterval(60)))
            let losing = MovedRedis(former, former, after: .max, loss: .none)
            losing.next = { [unowned losing] request in
                let text = String(decoding: request.bytes, as: UTF8.self)
                guard text.contains("EVAL"), text.contains("c:user:{u_1}") else { return nil }
                losing.next = nil
                return RedisRequest(RedisCommand(["HDEL", "c:user:{u_1}", "sharedWith"]))
            }
            let shared = try await records(losing).shareReplicated(album, with: other, Self.settings(), now: time)
            #expect(losing.next == nil)
            #expect(shared.shortened == later)
            #expect(try await records(former).shares(with: other).shares.folders.contains(album))
            #expect(try await records(former).recipients(of: owner).map(\.user) == [other])
        }
    }

    @Test @LoopActor func `a late replica is waited for once, not for each recipient`() async throws {
        let cluster = try await onThread { try RedisSentinelServers(replicas: 1, sentinels: 0) }
        try await withRedis("", { $0.address = .internet(host: "127.0.0.1", port: cluster.servers[0]) }) { redis in
            let records = records(redis)
            #expect(await becomes { (try? await records.recipients(of: owner)) != nil })
            for number in 0..<8 {
                _ = try await records.share(try folder(), with: UserID("g_\(number)")!, Self.settings(), now: time)
            }
            let whole = try await records.endSharingReplicated(of: UserID("g_0")!, hasFailover: true)
            #expect(whole.ended.count == 1 && whole.replication == .replicas(reached: 1, of: 1))
            cluster.pause(cluster.servers[1])
            defer { cluster.resume(cluster.servers[1]) }
            let begin = ContinuousClock.now
            let (ended, replication) = try await records.endSharingReplicated(of: owner, hasFailover: true)
            #expect(ended.count == 7 && replication == .replicas(reached: 0, of: 1))
            #expect(ContinuousClock.now - begin < .seconds(5))
        }
    }

    /// In a cluster the recipient's record is on a server of its own, whose failover brings the share back: only the owner's
    /// record leads the next run there.
    @Test @LoopActor func `knows with whom a user shared until a replica has the end of it`() async throws {
        try await withShareOnReplica { cluster, redis in
            let records = records(redis)
            cluster.pause(cluster.servers[1])
            for count in [1, 0] {
                let (ended, replication) = try await records.endSharingReplicated(of: owner, hasFailover: true)
                #expect(ended.count == count && replication == .replicas(reached: 0, of: 1))
                #expect(try await records.recipients(of: owner).map(\.user) == [other])
            }
            let (isDeleted, _, replication) = try await records.deleteReplicated(owner, hasFailover: true)
            #expect(isDeleted == nil && replication == .replicas(reached: 0, of: 1))
            #expect(try await records.isStored(owner))
            cluster.resume(cluster.servers[1])
            #expect(
                await becomes {
                    let again = try? await records.endSharingReplicated(of: owner, hasFailover: true)
                    return again?.replication == .replicas(reached: 1, of: 1)
                })
            #expect(try await records.recipients(of: owner).isEmpty)
        }
    }

    /// The first server seems to have two replicas, and its one has the change; the second one's does not.
    @Test @LoopActor func `looks for a change that is on no replica beside one that is on some`() async throws {
        try await withShareOnReplica { cluster, redis in
            _ = try await records(redis).share(try folder(), with: third, Self.settings(), now: time)
            let counting = MovedRedis(redis, redis, after: .max, loss: .none)
            var counts = 0
            counting.replacement = { request in
                guard String(decoding: request.bytes, as: UTF8.self).contains("INFO") else { return nil }
                counts += 1
                if counts == 2 { cluster.pause(cluster.servers[1]) }
                return RedisRequest(RedisCommand(["EVAL", "return 'connected_slaves:2'", "0"]))
            }
            let (ended, replication) = try await records(counting).endSharingReplicated(of: owner, hasFailover: true)
            cluster.resume(cluster.servers[1])
            #expect(ended.count == 2 && counts == 2 && replication == .replicas(reached: 0, of: 2))
        }
    }

    @Test @LoopActor func `says that it is not known whether a share has ended`() async throws {
        try await withMasters { former, next in
            let silent = records(MovedRedis(former, next, after: .max, loss: .response))
            await #expect(throws: RecordChangeError.unknown(.interrupted)) {
                _ = try await silent.unshareReplicated(
                    owner, with: other, hasFailover: true, timeout: .milliseconds(300))
            }
        }
    }

    // MARK: Lost responses

    /// Redis has run the script, so that the repetition finds nothing left.
    @Test @LoopActor func `says that a share has ended whose end lost its response`() async throws {
        try await withMasters { former, _ in
            let losing = records(losing(former, ofScriptFor: other))
            let ended = try await losing.unshareReplicated(owner, with: other, hasFailover: false).ended
            #expect(try ended.folders == [folder()])
            #expect(try await losing.unshareReplicated(owner, with: other, hasFailover: false).ended.isEmpty)
        }
    }

    /// A record, and what a scan alone has counted.
    @Test(arguments: [true, false])
    @LoopActor func `says that a record is deleted whose deletion lost its response`(isRecord: Bool) async throws {
        try await withMasters { former, _ in
            let user = try #require(UserID("u_4"))
            var change = UserRecordChange()
            change.storageUsed(5)
            if isRecord {
                try await records(former).apply(change, to: user)
            } else {
                try await records(former).write(change, user)
            }
            let losing = records(losing(former, ofScriptFor: user))
            #expect(try await losing.deleteReplicated(user, hasFailover: false).isDeleted == true)
            #expect(try await losing.deleteReplicated(user, hasFailover: false).isDeleted == false)
        }
    }

    /// That of the recipient's record, or of one that leads to it.
    @Test(arguments: ["u_1", "u_2", "u_3"])
    @LoopActor func `lists all that has ended where a response was lost`(id: String) async throws {
        try await withMasters { former, _ in
            let user = try #require(UserID(id))
            let losing = records(losing(former, ofScriptFor: user))
            let ended = try await losing.endSharingReplicated(of: owner, hasFailover: false).ended
            #expect(ended.count == 2 && Set(ended.map(\.recipient)) == [other, owner])
            for owner in [owner, third] { #expect(try await losing.recipients(of: owner).isEmpty) }
            #expect(try await losing.endSharingReplicated(of: owner, hasFailover: false).ended.isEmpty)
        }
    }

    @Test(arguments: [true, false])
    @LoopActor func `lists what has ended where there is no time to repeat`(isEnded: Bool) async throws {
        try await withMasters { former, _ in
            let losing = losing(former, ofScriptFor: other)
            let line = try folder().line
            // As if the script had not been run.
            losing.next = { request in
                let text = String(decoding: request.bytes, as: UTF8.self)
                guard !isEnded, text.contains("EVAL"), text.contains("c:user:{u_2}") else { return nil }
                return RedisRequest(RedisCommand(["HSET", "c:user:{u_2}", "shares", line]))
            }
            let records = records(losing)
            let error = await #expect(throws: UserRecords.UnendedSharing.self) {
                _ = try await records.endSharingReplicated(of: owner, hasFailover: false, timeout: .zero)
            }
            #expect(error?.users == [other] && error?.error == .redis(.interrupted))
            let recipients: Set<UserID> = isEnded ? [other, owner] : [owner]
            #expect(error.map { Set($0.ended.map(\.recipient)) } == recipients)
        }
    }

    /// Of a cluster: the recipient's server is lost once it has ended it.
    @Test @LoopActor func `lists what has ended where the server of a recipient is lost after that`() async throws {
        try await withMasters { (former, _) async throws in
            let losing = MovedRedis(former, former, after: .max, loss: .none)
            var isLost = false
            losing.loses = { request in
                let text = String(decoding: request.bytes, as: UTF8.self)
                guard text.contains("c:user:{u_2}") else { return false }
                defer { isLost = isLost || text.contains("EVAL") }
                return isLost
            }
            let error = await #expect(throws: UserRecords.UnendedSharing.self) {
                _ = try await records(losing).endSharingReplicated(of: owner, hasFailover: true, timeout: .zero)
            }
            #expect(error.map { Set($0.ended.map(\.recipient)) } == [other, owner])
            #expect(error.map { Set($0.users) } == [owner, other])
            #expect(try await records(former).recipients(of: owner).map(\.user) == [other])
        }
    }

    /// A second run finds none of it.
    @Test @LoopActor func `lists what has ended where a deletion fails after that`() async throws {
        try await withMasters { (former, _) async throws in
            let losing = losing(former, ofScriptFor: other)
            let fields = UserRecord.Field.allCases.map(\.rawValue)
            // Whether there is a record, which is read before the deletion alone.
            losing.loses = { request in
                let text = String(decoding: request.bytes, as: UTF8.self)
                return text.contains("HMGET") && fields.allSatisfy { text.contains($0) }
            }
            let error = await #expect(throws: UserRecords.UndeletedRecord.self) {
                _ = try await records(losing).deleteReplicated(owner, hasFailover: false, timeout: .zero)
            }
            #expect(error.map { Set($0.ended.map(\.recipient)) } == [other, owner])
            #expect(error?.cause as? RecordChangeError == .unknown(.interrupted))
            #expect(try await records(former).shares(with: other).shares.folders.isEmpty)
        }
    }

    @Test @LoopActor func `lists what has ended where a deletion fails since not all has`() async throws {
        try await withMasters { former, _ in
            let losing = losing(former, ofScriptFor: other)
            let line = try folder().line
            // As if the script had not been run.
            losing.next = { request in
                let text = String(decoding: request.bytes, as: UTF8.self)
                guard text.contains("EVAL"), text.contains("c:user:{u_2}") else { return nil }
                return RedisRequest(RedisCommand(["HSET", "c:user:{u_2}", "shares", line]))
            }
            let error = await #expect(throws: UserRecords.UndeletedRecord.self) {
                _ = try await records(losing).deleteReplicated(owner, hasFailover: false, timeout: .zero)
            }
            #expect(error?.ended.map(\.recipient) == [owner])
            #expect((error?.cause as? UserRecords.UnendedSharing)?.users == [other])
        }
    }

    // MARK: Parts

    /// A master with a replica, which both have it that u_1 shares with u_2.
    @LoopActor private func withShareOnReplica(
        _ body: @LoopActor (RedisSentinelServers, RedisConnection) async throws -> Void
    ) async throws {
        let cluster = try await onThread { try RedisSentinelServers(replicas: 1, sentinels: 0) }
        try await withRedis("", { $0.address = .internet(host: "127.0.0.1", port: cluster.servers[0]) }) { redis in
            let records = records(redis)
            #expect(
                await becomes {
                    let shared = try? await records.shareReplicated(
                        try folder(), with: other, Self.settings(), now: time)
                    return shared?.replication == .replicas(reached: 1, of: 1)
                })
            try await body(cluster, redis)
        }
    }

    /// A way to Redis that loses the response to the first script for a record.
    @LoopActor private func losing(_ redis: RedisConnection, ofScriptFor user: UserID) -> MovedRedis {
        let losing = MovedRedis(redis, redis, after: .max, loss: .none)
        losing.loses = { [unowned losing] request in
            let text = String(decoding: request.bytes, as: UTF8.self)
            guard text.contains("EVAL"), text.contains("c:user:{\(user.text)}") else { return false }
            losing.loses = nil
            return true
        }
        return losing
    }

    @LoopActor private func records(_ redis: any RedisClient) -> UserRecords {
        let time = time
        return UserRecords(redis: redis, keyPrefix: "c:", now: { time })
    }

    private func folder(_ prefix: String = "photos/u_1/a/", of owner: UserID? = nil) throws -> SharedFolder {
        try #require(
            SharedFolder(owner: owner ?? self.owner, prefix: prefix, end: time.addingTimeInterval(3600)))
    }

    private static func settings() throws -> Settings {
        let text = """
            {region: "eu-central-1", bucket: "photos", vending: {roleARN: "arn:aws:iam::000000000000:role/session", sharing: true},
             redis: {sentinels: ["127.0.0.1:26379"], master: "main"},
             tokens: {issuers: [{issuer: "https://a.example", audiences: ["a"], secret: {env: "SIGNING"}}]}}
            """
        return try Settings.load(
            file: "/settings.json5", environment: ["SIGNING": "u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae"]
        ) { $0 == "/settings.json5" ? Array(text.utf8) : nil }
    }

    /// A master and the one that replaces it: on both u_1 shares with u_2, and u_3 with u_1.
    @LoopActor private func withMasters(
        _ body: @LoopActor (RedisConnection, RedisConnection) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let servers = try await onThread {
            [try RedisServer(path: folder["a.sock"]), try RedisServer(path: folder["b.sock"])]
        }
        try await withRedis(servers[0].path) { former in
            try await withRedis(servers[1].path) { next in
                for redis in [former, next] {
                    let records = records(redis)
                    _ = try await records.share(try self.folder(), with: other, Self.settings(), now: time)
                    _ = try await records.share(
                        try self.folder("photos/u_3/a/", of: third), with: owner, Self.settings(), now: time)
                }
                try await body(former, next)
            }
        }
    }
}
