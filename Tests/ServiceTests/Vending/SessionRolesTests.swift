import CloakroomAWS
import Testing

@testable import CloakroomServer

struct SessionRolesTests {
    private static let sts = try? Endpoint.sts(region: "eu-central-1")

    private static func roles(_ names: [String]) throws -> SessionRoles {
        let sts = try #require(sts)
        return SessionRoles(
            active: names.map {
                SessionRole(name: $0, arn: "arn:aws:iam::1:role/\($0)", externalID: nil, profile: nil, sts: sts)
            })
    }

    private static let users = (0..<20_000).compactMap { UserID("u_\($0)") }

    /// By the roles' names.
    private static func names(_ roles: SessionRoles) -> [String] {
        users.map { roles.active[roles.index(for: $0)].name }
    }

    @Test(arguments: 2...8) func `gives each role its share of users`(count: Int) throws {
        let names = Self.names(try Self.roles((1...count).map { "r\($0)" }))
        let share = Self.users.count / count
        for role in 1...count {
            let users = names.count { $0 == "r\(role)" }
            // Five standard deviations of a fair draw are 350 of 20,000 at most.
            #expect(abs(users - share) < 350, "r\(role) of \(count) has \(users)")
        }
    }

    @Test(arguments: 1...7) func `moves only the share of a role that is added, and only to it`(count: Int) throws {
        let before = Self.names(try Self.roles((1...count).map { "r\($0)" }))
        let after = Self.names(try Self.roles((1...count + 1).map { "r\($0)" }))
        let moved = zip(before, after).filter { $0.0 != $0.1 }
        #expect(moved.allSatisfy { $0.1 == "r\(count + 1)" })
        let share = Self.users.count / (count + 1)
        #expect(abs(moved.count - share) < 350, "\(moved.count) moved, not about \(share)")
    }

    @Test func `moves only the users of a role that is taken out`() throws {
        let before = Self.names(try Self.roles(["a", "b", "c", "d"]))
        let after = Self.names(try Self.roles(["a", "b", "d"]))
        for (one, other) in zip(before, after) where one != "c" { #expect(one == other) }
        #expect(!after.contains("c"))
    }

    @Test func `goes by names, in whatever order`() throws {
        #expect(Self.names(try Self.roles(["a", "b", "c"])) == Self.names(try Self.roles(["c", "a", "b"])))
    }

    /// A change of the function would move users of running installations.
    @Test func `keeps users with their roles from one version to the next`() throws {
        let roles = try Self.roles(["main", "b", "c"])
        let found = ["u_1", "u_2", "u_3", "u_7", "anna", "bert"].compactMap(UserID.init).map {
            "\($0.text) \(roles.active[roles.index(for: $0)].name)"
        }
        #expect(found == ["u_1 main", "u_2 c", "u_3 c", "u_7 b", "anna c", "bert b"])
    }
}
