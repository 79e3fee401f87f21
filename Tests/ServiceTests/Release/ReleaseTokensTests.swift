import CloakroomCrypto
import Testing

@testable import CloakroomServer

struct ReleaseTokensTests {
    private static let first = ReleaseKey(from: Array("first secret, of thirty-two bytes".utf8))
    private static let second = ReleaseKey(from: Array("second secret, of thirty-two byte".utf8))

    private func tokens(_ keys: [ReleaseKey] = [first], bucket: String = "photos") -> ReleaseTokens {
        ReleaseTokens(keys: keys, bucket: bucket)
    }

    private func user(_ text: String = "u_1") throws -> UserID { try #require(UserID(text)) }

    @Test func `a token is the HMAC over version, bucket, key and user, each behind its length`() throws {
        let key = HMACSHA256(
            key: HMACSHA256(key: Array("first secret, of thirty-two bytes".utf8)).authenticate(
                Array("cloakroom release tokens".utf8)))
        var message: [UInt8] = []
        for text in ["v1", "photos", "chats/a.bin", "u_1"] {
            message += [0, 0, 0, UInt8(text.utf8.count)]
            message += Array(text.utf8)
        }
        #expect(
            tokens().token(for: "chats/a.bin", of: try user()) == "v1." + Base64URL.encode(key.authenticate(message)))
    }

    @Test func `a token holds for its own key, user and bucket alone`() throws {
        let token = tokens().token(for: "chats/a.bin", of: try user())
        #expect(tokens().verify(token, for: "chats/a.bin", of: try user()))
        #expect(!tokens().verify(token, for: "chats/b.bin", of: try user()))
        #expect(!tokens().verify(token, for: "chats/a.bin", of: try user("u_2")))
        #expect(!tokens(bucket: "other").verify(token, for: "chats/a.bin", of: try user()))
        #expect(!tokens([Self.second]).verify(token, for: "chats/a.bin", of: try user()))
    }

    @Test func `moving a letter from one field into the next makes another token`() throws {
        let one = tokens(bucket: "photos").token(for: "chats/ab", of: try user("c"))
        #expect(one != tokens(bucket: "photos").token(for: "chats/a", of: try user("bc")))
        #expect(one != tokens(bucket: "photosc").token(for: "hats/ab", of: try user("c")))
    }

    @Test func `keys rotate: the first signs, all verify, and a token ends when its key leaves the list`() throws {
        let old = tokens([Self.first]).token(for: "chats/a.bin", of: try user())
        let rotated = tokens([Self.second, Self.first])
        let new = rotated.token(for: "chats/a.bin", of: try user())
        #expect(new != old)
        for token in [old, new] { #expect(rotated.verify(token, for: "chats/a.bin", of: try user())) }
        let after = tokens([Self.second])
        #expect(after.verify(new, for: "chats/a.bin", of: try user()))
        #expect(!after.verify(old, for: "chats/a.bin", of: try user()))
    }

    @Test func `no altered or cut token holds, whatever it looks like`() throws {
        let token = tokens().token(for: "chats/a.bin", of: try user())
        var altered = [
            "", ".", "v1", "v1.", "v2" + token.dropFirst(2), token + "A", token + "=", " " + token, "v1.v1.",
        ]
        altered.append(String(repeating: "A", count: 100_000))
        for index in token.indices.dropFirst(3) {
            altered.append(String(token[..<index]))
            altered.append(token.replacingCharacters(in: index...index, with: token[index] == "A" ? "B" : "A"))
        }
        for text in altered {
            #expect(!tokens().verify(text, for: "chats/a.bin", of: try user()), "\(text.prefix(60))")
        }
    }

    @Test func `a key prints as a secret`() {
        #expect("\(Self.first)" == "<secret>" && String(reflecting: Self.first) == "<secret>")
        #expect(Mirror(reflecting: Self.first).children.isEmpty)
    }
}

extension String {
    fileprivate func replacingCharacters(in range: ClosedRange<Index>, with text: String) -> String {
        self[..<range.lowerBound] + text + self[index(after: range.upperBound)...]
    }
}
