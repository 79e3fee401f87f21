import CloakroomCrypto
import Foundation
import CloakroomHTTP
import CloakroomJSON
import Synchronization
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct AuditVerifierTests {
    /// The lines of one worker, as it writes them.
    private func lines(_ count: Int, chain id: String = "00000000000000c1", follows: String? = nil) throws -> [String] {
        var chain = AuditChain(id: id, worker: "unix:/w.sock", process: 7, follows: follows)
        let subject = Subject(userID: try #require(UserID("u_1")), deviceID: "d", tier: "free", issuer: "https://a")
        var request = Request(method: "GET", target: "/")
        request.id = RequestID(1)
        let start = LineStart.text(at: Date(timeIntervalSince1970: 1_800_000_000))
        var hash = SHA256()
        return (0..<count).map { number in
            let issue = AuditLog.Issuance(
                .upload(objectKey: "key\(number)", until: Date(timeIntervalSince1970: 1_800_000_000)), to: subject,
                tier: "free", by: request)
            var (line, whole) = (JSONWriter(), JSONWriter())
            issue.write(to: &line, start: start)
            chain.append(line.bytes[...], to: &whole, hashing: &hash)
            return String(decoding: whole.bytes.dropLast(), as: UTF8.self)
        }
    }

    private func verified(
        _ lines: [String], isContinued: Bool = false
    ) -> (faults: [String], verifier: AuditVerifier) {
        let faults = DiscrepancyLog()
        var verifier = AuditVerifier(isContinued: isContinued) { fault in
            faults.list.withLock { $0.append("\(fault)") }
        }
        for (index, line) in lines.enumerated() { verifier.verify(Array(line.utf8), at: "a:\(index + 1)") }
        verifier.finish()
        return (faults.list.withLock { $0 }, verifier)
    }

    private final class DiscrepancyLog: Sendable {
        let list = Mutex<[String]>([])
    }

    @Test func `finds no fault in two workers' lines that stand between each other`() throws {
        let one = try lines(5)
        let two = try lines(3, chain: "00000000000000c2", follows: "00000000000000c0")
        let (faults, verifier) = verified([one[0], two[0], two[1], one[1], one[2], one[3], two[2], one[4]])
        #expect(faults == [])
        #expect(verifier.chains.map(\.id) == ["00000000000000c1", "00000000000000c2"])
        #expect(verifier.chains.map { [$0.first, $0.last, $0.lines, $0.faults] } == [[1, 5, 5, 0], [1, 3, 3, 0]])
        #expect(verifier.chains[0].digest == SHA256.hash(Array(one[4].utf8)).hexadecimal)
        #expect(verifier.chains[0].worker == "unix:/w.sock")
    }

    @Test(arguments: [
        (#""user":"u_1""#, #""user":"u_2""#), (#""expiration":"2027"#, #""expiration":"2028"#),
        ("\"device\":\"d\"", "\"device\": \"d\""),
    ])
    func `finds a line that was changed`(from: String, to: String) throws {
        var lines = try lines(5)
        lines[2] = lines[2].replacing(from, with: to)
        #expect(
            verified(lines).faults == [
                "a:4: line 4 of chain 00000000000000c1 does not fit line 3: one of the two was changed"
            ])
    }

    @Test func `finds lines that are missing`() throws {
        var lines = try lines(9)
        lines.removeSubrange(5...6)
        lines.remove(at: 1)
        #expect(
            verified(lines).faults == [
                "chain 00000000000000c1: line 2 is missing", "chain 00000000000000c1: lines 6 to 7 are missing",
            ])
    }

    @Test func `finds lines in the wrong place`() throws {
        var lines = try lines(5)
        lines.swapAt(1, 2)
        #expect(verified(lines).faults == ["a:3: line 2 of chain 00000000000000c1 is out of order"])
    }

    @Test func `finds a line that is there twice`() throws {
        var lines = try lines(4)
        lines.insert(lines[1], at: 3)
        #expect(verified(lines).faults == ["a:4: line 2 of chain 00000000000000c1 is there a second time"])
    }

    @Test func `finds a beginning that is missing`() throws {
        let lines = try lines(5)
        #expect(
            verified(Array(lines.dropFirst(2))).faults == ["chain 00000000000000c1: lines 1 to 2 are missing"])
        // As it would be made to look like another worker's.
        let moved = lines[0].replacing("00000000000000c1", with: "00000000000000c9")
        #expect(
            verified([moved] + lines.dropFirst()).faults == ["chain 00000000000000c1: line 1 is missing"])
        #expect(
            verified([lines[1], lines[0]] + lines.dropFirst(2)).faults == [
                "a:2: line 1 of chain 00000000000000c1 is out of order"
            ])
    }

    @Test func `finds whatever is done to lines of several chains, but for ends that are cut off`() throws {
        let chains = try [
            lines(6, chain: "00000000000000c1"), lines(4, chain: "00000000000000c2"),
            lines(2, chain: "00000000000000c3", follows: "00000000000000c2"),
        ]
        /// Chain and number of each line of the file.
        let order = [
            (0, 0), (1, 0), (0, 1), (0, 2), (1, 1), (1, 2), (1, 3), (2, 0), (0, 3), (2, 1), (0, 4), (0, 5),
        ]
        func isWhole(_ order: [(Int, Int)]) -> Bool {
            chains.indices.allSatisfy { chain in
                let numbers = order.filter { $0.0 == chain }.map(\.1)
                return numbers == Array(0..<numbers.count)
            }
        }
        func check(_ changed: [(Int, Int)], _ what: String) {
            let faults = verified(changed.map { chains[$0.0][$0.1] }).faults
            #expect(faults.isEmpty == isWhole(changed), "\(what): \(faults)")
        }
        check(order, "nothing")
        for one in order.indices {
            var deleted = order
            deleted.remove(at: one)
            check(deleted, "delete \(one)")
            for other in order.indices {
                var swapped = order
                swapped.swapAt(one, other)
                check(swapped, "swap \(one) and \(other)")
                var copied = order
                copied.insert(order[one], at: other)
                check(copied, "copy \(one) to \(other)")
            }
            let (chain, number) = order[one]
            guard number + 1 < chains[chain].count else { continue }
            for place in chains[chain][number].utf8.indices {
                var texts = order.map { Array(chains[$0.0][$0.1].utf8) }
                let offset = chains[chain][number].utf8.distance(
                    from: chains[chain][number].utf8.startIndex, to: place)
                texts[one][offset] = texts[one][offset] == UInt8(ascii: "7") ? UInt8(ascii: "8") : UInt8(ascii: "7")
                let faults = verified(texts.map { String(decoding: $0, as: UTF8.self) }).faults
                #expect(!faults.isEmpty, "byte \(offset) of line \(one)")
            }
        }
    }

    @Test func `takes a chain whose beginning is elsewhere, and says where its part begins`() throws {
        let (faults, verifier) = verified(Array(try lines(5).dropFirst(2)), isContinued: true)
        #expect(faults == [])
        #expect(verifier.chains.map { [$0.first, $0.last] } == [[3, 5]])
    }

    @Test func `finds a first line that was made of another`() throws {
        var lines = try lines(3)
        lines[1] = lines[1].replacing(#""sequence":2"#, with: #""sequence":1"#)
        #expect(
            verified(Array(lines.dropFirst())).faults == [
                "a:1: line 1 of chain 00000000000000c1 was changed",
                "chain 00000000000000c1: line 2 is missing",
            ])
    }

    @Test func `passes over what is no audit line, and over pieces that a full disk left`() throws {
        let lines = try lines(2)
        let (faults, verifier) = verified([
            lines[0], #"{"time":"t","level":"info"}"#, String(lines[1].prefix(40)), "", lines[1],
        ])
        #expect(faults == [])
        #expect(verifier.otherLines == 1 && verifier.pieces == 1)
    }

    @Test(arguments: [1, 9, 40, 200])
    func `takes a line that another worker wrote behind a piece`(length: Int) throws {
        let one = try lines(2)
        let two = try lines(2, chain: "00000000000000c2")
        let (faults, verifier) = verified([one[0], two[0], one[1].prefix(length) + two[1], one[1]])
        #expect(faults == [])
        #expect(verifier.pieces == 1 && verifier.chains.map(\.lines) == [2, 2])
        let changed = two[0].replacing("u_1", with: "u_2")
        #expect(verified([one[0], one[1].prefix(length) + changed, two[1], one[1]]).faults.count == 1)
    }

    @Test(arguments: [
        (#"{"audit":"issued"}"#, "this audit line belongs to no chain"),
        (#"{"audit":"issued","chain":"c","sequence":0}"#, "this audit line belongs to no chain"),
        (#"{"audit":}"#, "this is no JSON"),
    ])
    func `tells of lines nobody wrote`(line: String, fault: String) {
        #expect(verified([line]).faults == ["a:1: \(fault)"])
    }

    @Test func `tells of a line that is too long, and of a file that ends within one`() {
        let faults = DiscrepancyLog()
        var verifier = AuditVerifier { fault in faults.list.withLock { $0.append("\(fault)") } }
        verifier.verify([], isTooLong: true, at: "a:1")
        verifier.endsWithinALine(at: "a:2")
        #expect(
            faults.list.withLock { $0 } == [
                "a:1: this line is longer than any of ours", "a:2: the file ends within a line",
            ])
    }
}
