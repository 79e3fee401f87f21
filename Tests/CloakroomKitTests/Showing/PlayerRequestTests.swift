import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct PlayerRequestTests {
    private static let first = PlayerRequest.firstPiece
    private static let longest = PlayerRequest.longestPiece

    /// Of a resource of 10 MiB.
    @Test(
        arguments: [
            (0, 2, [0..<2]),
            (0, first, [0..<first]),
            (100, first + 1, [100..<first + 100, first + 100..<first + 101]),
            ((10 << 20) - 10, 10, [(10 << 20) - 10..<10 << 20]),
            ((10 << 20) - 10, 11, [(10 << 20) - 10..<10 << 20]),
            ((10 << 20) - 10, nil, [(10 << 20) - 10..<10 << 20]),
            ((10 << 20) - 10, .max, [(10 << 20) - 10..<10 << 20]),
            (10 << 20, nil, []), (.max, .max, []), (-1, 5, []), (.min, nil, []), (5, 0, []), (5, -3, []),
        ] as [(Int64, Int64?, [Range<Int64>])])
    func `a request is read in pieces inside the resource`(offset: Int64, count: Int64?, expected: [Range<Int64>]) {
        #expect(Array(PlayerRequest(offset: offset, byteCount: count).pieces(of: 10 << 20)) == expected)
    }

    @Test func `pieces grow from one that comes soon, and are all of it`() {
        let pieces = Array(PlayerRequest(offset: 7).pieces(of: 50 << 20))
        #expect(pieces.first == 7..<7 + Self.first)
        #expect(pieces.last?.upperBound == 50 << 20)
        for (piece, next) in zip(pieces, pieces.dropFirst()) {
            #expect(piece.upperBound == next.lowerBound)
            #expect(next.count <= min(Int64(piece.count) * 2, Self.longest))
        }
        #expect(pieces.contains { $0.count == Self.longest } && Self.longest <= RangeReader.maximumBytes)
        #expect(Array(PlayerRequest(offset: 0).pieces(of: 0)) == [])
    }

    @Test func `a player gets the bytes that it wants, in order, and none after it has gone`() async throws {
        let bench = try BackupBench()
        let video = numbered(200_000)
        await bench.s3.store("photos/u_1/v.dat", video)
        let reader = RangeReader(client: bench.client(), key: "photos/u_1/v.dat")
        let received = Log<Data>()
        try await reader.read(PlayerRequest(offset: 1000)) { received.append($0) }
        #expect(received.all.reduce(Data(), +) == video[1000...])
        #expect(received.all.map(\.count) == [65_536, 131_072, 2392])
        let none = Log<Data>()
        let gone = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await reader.read(PlayerRequest(offset: 0)) { none.append($0) }
        }
        await #expect(throws: (any Error).self) { try await gone.value }
        #expect(none.all == [])
    }

    @Test func `a video that is replaced while it is played is noticed`() async throws {
        let bench = try BackupBench()
        await bench.s3.store("photos/u_1/v.dat", numbered(100))
        let reader = RangeReader(client: bench.client(), key: "photos/u_1/v.dat")
        try await reader.read(PlayerRequest(offset: 0, byteCount: 2)) { _ in }
        await bench.s3.store("photos/u_1/v.dat", numbered(101))
        #expect(await bench.code { try await reader.read(PlayerRequest(offset: 0)) { _ in } } == .conditionFailed)
    }

    @Test(
        arguments: [
            ("application/octet-stream", ["original-format": "mov"], .fileExtension("mov")),
            ("video/mp4", [:], .mime("video/mp4")), ("video/mp4; codecs=avc1", [:], .mime("video/mp4")),
            ("application/octet-stream", [:], nil), (nil, [:], nil),
        ] as [(String?, [String: String], ObjectInfo.MediaType?)])
    func `a player learns the format of the file that was backed up, or else the content type`(
        contentType: String?, metadata: [String: String], expected: ObjectInfo.MediaType?
    ) {
        let info = ObjectInfo(
            key: "v", byteCount: 1, entityTag: "\"a\"", contentType: contentType, metadata: metadata)
        #expect(info.mediaType == expected)
    }
}
