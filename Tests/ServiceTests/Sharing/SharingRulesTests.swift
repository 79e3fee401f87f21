import CloakroomAWS
import CloakroomJSON
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

/// What a session opens of other users' folders, by IAM's own rules: its policy together with the role's.
struct SharingRulesTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static let users = ["u_1", "u_10", "u_2", "U_1", "-", "friend"]

    private static func sharing(_ vending: String = "", store: ObjectStore = .aws) throws -> Settings {
        try settings(
            smallest(
                vending:
                    #"sharing: true, store: "\#(store.rawValue)", prefixes: ["photos", "thumbnails", "metadata", "catalogs"]"#
                    + (vending.isEmpty ? "" : ", \(vending)")),
            files: [
                "/etc/cloakroom/album.json": #"""
                {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:GetObject",
                  "Resource": "arn:${partition}:s3:::${bucket}/photos/${user}/albums/*"}]}
                """#,
                "/etc/cloakroom/home.json": #"""
                {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:GetObject",
                  "Resource": "arn:${partition}:s3:::${bucket}/photos/${user}/*",
                  "Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}}]}
                """#,
            ])
    }

    private static func folder(_ owner: String, _ prefix: String, for seconds: Double = 3600) throws -> SharedFolder {
        let owner = try #require(UserID(owner))
        return try #require(SharedFolder(owner: owner, prefix: prefix, end: now.addingTimeInterval(seconds)))
    }

    private static func grant(_ settings: Settings, _ scope: String = "full", tier: String = "free") throws -> Grant {
        Grant(scope: try #require(settings.vending.scopes[scope]), lifetime: .seconds(3600), tier: tier)
    }

    /// A session as it is vended, and who decides about its requests.
    private struct Session {
        let policy, role: IAMPolicy
        let tags: [String: [String]]

        func allows(_ action: String, _ key: String, after seconds: Double) -> Bool {
            decide(IAMRequest(action, "arn:aws:s3:::photos/\(key)", context: context(after: seconds)))
        }

        func lists(_ prefix: String, after seconds: Double) -> Bool {
            var context = context(after: seconds)
            context["s3:prefix"] = [prefix]
            return decide(IAMRequest("s3:ListBucket", "arn:aws:s3:::photos", context: context))
        }

        private func context(after seconds: Double) -> [String: [String]] {
            tags.merging(["aws:CurrentTime": [now.addingTimeInterval(seconds).wireText]]) { $1 }
        }

        private func decide(_ request: IAMRequest) -> Bool { policy.allows(request) && role.allows(request) }
    }

    private static func session(_ grant: Grant, _ user: UserID, role: IAMPolicy) throws -> Session {
        let text = grant.policyText(for: user, at: now)
        let tags = grant.tags(for: user).map { ("aws:PrincipalTag/\($0.key)", [$0.value]) }
        return Session(
            policy: try IAMPolicy(try JSON(parsing: Array(text.utf8))), role: role,
            tags: Dictionary(uniqueKeysWithValues: tags))
    }

    /// What the role may by both of its policies.
    private static func role() throws -> IAMPolicy {
        let statements = try ["session-role-policy", "sharing-policy"].flatMap { name in
            try DeployedPolicyTests.policy(name, bucket: "photos").statements
        }
        return IAMPolicy(statements: statements)
    }

    @Test(arguments: SeededGenerator.freshSeeds)
    func `nobody reads what is neither theirs nor shared, nobody writes what is not theirs`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let settings = try Self.sharing()
        let (rules, role) = (SharingRules(settings), try Self.role())
        var (readOthers, refused) = (0, 0)
        for _ in 0..<60 {
            let user = try #require(Self.users.randomElement(using: &generator).flatMap { UserID($0) })
            let shares = try (0..<Int.random(in: 0...7, using: &generator)).map { _ in
                let owner = try #require(Self.users.randomElement(using: &generator))
                let place = ["photos", "thumbnails", "elsewhere"].randomElement(using: &generator) ?? ""
                let album = ["", "a/", "ab/", "a/b/"].randomElement(using: &generator) ?? ""
                return try Self.folder(
                    owner, "\(place)/\(owner)/\(album)", for: Double(Int.random(in: -60...600, using: &generator)))
            }
            var grant = try Self.grant(settings, ["full", "read", "upload"].randomElement(using: &generator) ?? "")
            (grant.shared, _) = rules.sessionShares(shares, of: user, grant, at: Self.now)
            let session = try Self.session(grant, user, role: role)
            for _ in 0..<60 {
                // Half of them in what is shared: few others would be.
                let share = Bool.random(using: &generator) ? shares.randomElement(using: &generator) : nil
                let owner = try share?.owner.text ?? #require(Self.users.randomElement(using: &generator))
                let place = ["photos", "thumbnails", "elsewhere"].randomElement(using: &generator) ?? ""
                let key =
                    (share?.prefix ?? "\(place)/\(owner)/")
                    + (["x", "a/x", "a", "ab/x", "a/b/x", "b/x"].randomElement(using: &generator) ?? "")
                let after = Double(Int.random(in: 0...700, using: &generator))
                let isOwn = owner == user.text
                let isShared = shares.contains {
                    key.hasPrefix($0.prefix) && after < $0.end.timeIntervalSince(Self.now)
                }
                let reads = session.allows("s3:GetObject", key, after: after)
                #expect(!reads || isOwn || isShared, "\(user.text) reads \(key)")
                if reads, !isOwn { readOthers += 1 }
                for action in ["s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"] {
                    #expect(!session.allows(action, key, after: after) || isOwn, "\(user.text) may \(action) \(key)")
                }
                let prefix = String(key[...(key.lastIndex(of: "/") ?? key.startIndex)])
                let lists = session.lists(prefix, after: after)
                #expect(!lists || isOwn || isShared, "\(user.text) lists \(prefix)")
                if !reads { refused += 1 }
            }
        }
        #expect(readOthers > 20 && refused > 100)
    }

    @Test func `every shared folder opens, as far as there is room, until its end`() throws {
        let settings = try Self.sharing()
        let user = try #require(UserID("u_2"))
        let shares = [try Self.folder("u_1", "photos/u_1/a/"), try Self.folder("u_3", "thumbnails/u_3/", for: 60)]
        for scope in ["full", "read"] {
            var grant = try Self.grant(settings, scope)
            let (shared, omitted) = SharingRules(settings).sessionShares(shares, of: user, grant, at: Self.now)
            #expect(shared.folders.count == 2 && omitted.isEmpty)
            grant.shared = shared
            let session = try Self.session(grant, user, role: try Self.role())
            #expect(session.allows("s3:GetObject", "photos/u_1/a/x", after: 3599))
            #expect(!session.allows("s3:GetObject", "photos/u_1/a/x", after: 3600))
            #expect(session.allows("s3:GetObject", "thumbnails/u_3/x", after: 59))
            #expect(!session.allows("s3:GetObject", "thumbnails/u_3/x", after: 60))
            #expect(session.lists("photos/u_1/a/", after: 0) && !session.lists("photos/u_1/", after: 0))
            #expect(!session.allows("s3:GetObject", "photos/u_1/b/x", after: 0))
            #expect(!session.allows("s3:PutObject", "photos/u_1/a/x", after: 0))
            #expect(grant.tags(for: user).map(\.key) == ["UserId", "SubscriptionTier", "Shared1", "Shared2"])
        }
    }

    @Test(arguments: ["upload", "album", "home"])
    func `a scope that does not read all of the own folder reads no other`(scope: String) throws {
        let settings = try Self.sharing(#"scopes: {album: {template: "album.json"}, home: {template: "home.json"}}"#)
        let (shared, omitted) = SharingRules(settings).sessionShares(
            [try Self.folder("u_1", "photos/u_1/albums/x/")], of: try #require(UserID("u_2")),
            try Self.grant(settings, scope), at: Self.now)
        #expect(shared.isEmpty && omitted.isEmpty)
    }

    @Test func `what is left out leaves the user's own as it is`() throws {
        let settings = try Self.sharing()
        let user = try #require(UserID("u_2"))
        let rules = SharingRules(settings)
        let grant = try Self.grant(settings)
        let many = try (1...6).map { try Self.folder("o_\($0)", "photos/o_\($0)/") }
        let (few, omitted) = rules.sessionShares(many, of: user, grant, at: Self.now)
        #expect(few.owners.count <= SharedFolders.maximumOwners)
        #expect(omitted.contains { $0.why == .owners || $0.why == .size })
        let long = try (1...8).map { number in
            try Self.folder("u_1", "photos/u_1/" + String(UUID().uuidString.lowercased()) + "-\(number)/")
        }
        let (some, tooLarge) = rules.sessionShares(long, of: user, grant, at: Self.now)
        #expect(!some.isEmpty && tooLarge.allSatisfy { $0.why == .size } && !tooLarge.isEmpty)
        var grown = grant
        grown.shared = some
        #expect(grown.packedSize(for: user).percent <= 100)
        let (none, elsewhere) = rules.sessionShares(
            [try Self.folder("u_1", "old/u_1/")], of: user, grant, at: Self.now)
        #expect(none.isEmpty && elsewhere.map(\.why) == [.place])
    }

    @Test func `what was shared first keeps its room`() throws {
        let settings = try Self.sharing()
        let user = try #require(UserID("u_2"))
        let shares = try ["a", "b", "c"].map { try Self.folder("u_1", "photos/u_1/\($0)/") }
        let grant = try Self.grant(settings)
        func shared(_ folders: [SharedFolder]) -> SharedFolders {
            SharingRules(settings).sessionShares(folders, of: user, grant, at: Self.now).shared
        }
        #expect(shared(shares).folders == shares)
        #expect(shared(shares) != shared(Array(shares.dropLast())))
        let others = try (1...5).map { try Self.folder("o_\($0)", "photos/o_\($0)/") }
        let room = shared(others).folders.count
        #expect(Array(shared(others + shares).folders.prefix(room)) == Array(others.prefix(room)))
    }

    @Test func `a session ends with what it opens where conditions do not know the time`() throws {
        let settings = try Self.sharing(store: .seaweedfs)
        let user = try #require(UserID("u_2"))
        var grant = try Self.grant(settings)
        let shares = [
            try Self.folder("u_1", "photos/u_1/a/", for: 1000), try Self.folder("u_1", "photos/u_1/b/", for: 900),
        ]
        (grant.shared, _) = SharingRules(settings).sessionShares(shares, of: user, grant, at: Self.now)
        #expect(grant.shared.folders.map(\.prefix) == ["photos/u_1/a/"], "no session is shorter than 900 s")
        // STS may be called as late as the request's deadline, 15 s, and counts from then on.
        for (seconds, lifetime) in [(0, 985), (0.5, 984), (80, 905), (90, 900)] as [(Double, Int)] {
            #expect(grant.lifetime(at: Self.now.addingTimeInterval(seconds)) == .seconds(lifetime))
        }
        #expect(!grant.policyText(for: user, at: Self.now).contains("CurrentTime"))
        let aws = try Self.sharing()
        grant.shared = SharingRules(aws).sessionShares(shares, of: user, grant, at: Self.now).shared
        #expect(grant.lifetime(at: Self.now) == .seconds(3600))
    }

    /// The owners' ids are near the user's, or their folders where a simulation tries objects.
    @Test(
        arguments: [
            ("u_1", "u_10"), ("u_1", "0u_1"), ("u_1", "u_"), ("u_1", "U_1"), ("u_1", "x"), ("u_10", "u_1"),
        ] as [(String, String)])
    func `a simulation calls no share a hole`(user: String, owner: String) throws {
        let settings = try Self.sharing()
        let user = try #require(UserID(user))
        let shares = [try Self.folder(owner, "photos/\(owner)/"), try Self.folder("u_2", "photos/u_2/a/")]
        for scope in ["full", "read"] {
            var grant = try Self.grant(settings, scope)
            (grant.shared, _) = SharingRules(settings).sessionShares(shares, of: user, grant, at: Self.now)
            #expect(grant.shared.folders == shares)
            let rows = PolicySimulation(grant, user: user, bucket: "photos", partition: "aws", at: Self.now).rows
            #expect(rows.filter { !$0.isAsExpected }.isEmpty)
            let neighbours = rows.filter { $0.remark == "a user whose id begins with this one" }
            #expect(neighbours.count == 12 && neighbours.allSatisfy { $0.expected == false })
        }
    }

    @Test func `a simulation finds what is open beside a share`() throws {
        let settings = try Self.sharing()
        let user = try #require(UserID("u_1"))
        // Open to the user is one more character than what is theirs.
        let json = try JSON(
            parsing: Array(
                #"""
                {"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:GetObject"],
                "Resource":["arn:aws:s3:::photos/photos/${user}/*","arn:aws:s3:::photos/photos/${user}?/*"]}]}
                """#.utf8))
        let leaky = SessionPolicy(
            SessionPolicyCheck.CheckedPolicy(
                json: json, language: try IAMPolicy(json), folders: ["photos/"], requestPlaceholders: []))
        var grant = Grant(scope: Scope(name: "leaky", policy: leaky), lifetime: .seconds(3600), tier: "free")
        let shares = [try Self.folder("u_10", "photos/u_10/")]
        (grant.shared, _) = SharingRules(settings).sessionShares(shares, of: user, grant, at: Self.now)
        #expect(grant.shared.folders == shares)
        let rows = PolicySimulation(grant, user: user, bucket: "photos", partition: "aws", at: Self.now).rows
        let wrong = rows.filter { !$0.isAsExpected }
        #expect(wrong.map(\.target) == ["photos/u_11/a.jpg", "photos/u_10/a.jpg"])
        #expect(wrong.last?.remark == "when the share is over")
    }

    @Test func `credentials are found again only with the same folders`() throws {
        let settings = try Self.sharing()
        let user = try #require(UserID("u_2"))
        var grant = try Self.grant(settings)
        let plain = SharedCredentialKey(user: user, role: "r", grant: grant)
        let shares = try ["a", "b"].map { try Self.folder("u_1", "photos/u_1/\($0)/") }
        var keys = [plain]
        for folders in [[shares[0]], [shares[1]], shares] {
            grant.shared = SharingRules(settings).sessionShares(folders, of: user, grant, at: Self.now).shared
            keys.append(SharedCredentialKey(user: user, role: "r", grant: grant))
        }
        #expect(Set(keys.map { $0.key(prefix: "c:") }).count == 4)
        #expect(Set(keys.map(\.context)).count == 4)
    }
}
