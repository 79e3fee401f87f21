import CloakroomCrypto
import Foundation
import Testing

@testable import CloakroomServer

struct TicketSealTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static let (old, new) = (SealingKey(from: [1], purpose: "p"), SealingKey(from: [2], purpose: "p"))
    private let ticket = UploadTicket(
        objectKey: "a/b.bin", uploadID: "id\"+/=", plan: MultipartLayout(byteCount: 9 << 20),
        expiration: now.addingTimeInterval(60))

    private func user(_ text: String) throws -> UserID { try #require(UserID(text)) }

    @Test func `opens for whoever it was made for, until it ends`() throws {
        let seal = TicketSeal(keys: [Self.old])
        let user = try user("u_1")
        let id = seal.id(ticket, of: user)
        #expect(id.wholeMatch(of: /[A-Za-z0-9_-]+/) != nil)
        #expect(id != seal.id(ticket, of: user))
        #expect(seal.ticket(id, of: user, at: Self.now) == ticket)
        #expect(seal.ticket(id, of: user, at: Self.now.addingTimeInterval(59.9)) == ticket)
        #expect(seal.ticket(id, of: user, at: Self.now.addingTimeInterval(60)) == nil)
    }

    @Test func `opens for nobody else, and not when anything of it was changed`() throws {
        let seal = TicketSeal(keys: [Self.old])
        let user = try user("u_1")
        let id = seal.id(ticket, of: user)
        for name in ["u_10", "u_2", "U_1"] {
            #expect(seal.ticket(id, of: try self.user(name), at: Self.now) == nil)
        }
        for index in id.indices {
            var changed = id
            changed.replaceSubrange(index...index, with: id[index] == "A" ? "B" : "A")
            #expect(seal.ticket(changed, of: user, at: Self.now) == nil)
        }
        for other in [
            "", "x", String(id.dropLast()), id + "A", id + "=", "%41" + id, String(repeating: "A", count: 4096),
            String(repeating: "A", count: 100_000),
        ] { #expect(seal.ticket(other, of: user, at: Self.now) == nil) }
    }

    @Test func `a new key in front opens what the old one sealed`() throws {
        let user = try user("u_1")
        let id = TicketSeal(keys: [Self.old]).id(ticket, of: user)
        #expect(TicketSeal(keys: [Self.new, Self.old]).ticket(id, of: user, at: Self.now) == ticket)
        #expect(TicketSeal(keys: [Self.new]).ticket(id, of: user, at: Self.now) == nil)
        let newer = TicketSeal(keys: [Self.new, Self.old]).id(ticket, of: user)
        #expect(TicketSeal(keys: [Self.old]).ticket(newer, of: user, at: Self.now) == nil)
    }
}
