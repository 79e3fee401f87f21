import Foundation
import Testing

@testable import CloakroomKit

@Suite struct RangeReaderTests {
    private let bench: BackupBench
    private let video = numbered(100)

    init() throws { bench = try BackupBench() }

    private func reader() async -> RangeReader {
        await bench.s3.store("photos/u_1/v.dat", video, fields: ["content-type": "video/mp4"])
        return RangeReader(client: bench.client(), key: "photos/u_1/v.dat")
    }

    @Test func `bytes of a range are read, with the length and the type of the object`() async throws {
        let reader = await reader()
        #expect(try await reader.read(10..<30) == video[10..<30])
        let info = try await reader.info()
        #expect(info.byteCount == 100 && info.contentType == "video/mp4")
        #expect(try await reader.read(0..<100) == video)
        let sent = await bench.http.sent
        #expect(sent.map { $0["range"] } == [nil, "bytes=10-29", "bytes=0-99"])
        #expect(sent.map { $0["if-match"] } == [nil, info.entityTag, info.entityTag])
    }

    @Test(arguments: [(90, 120, 90..<100), (100, 101, 0..<0), (7, 7, 0..<0), (1000, 2000, 0..<0)])
    func `a range ends with the object`(start: Int64, end: Int64, expected: Range<Int>) async throws {
        #expect(try await reader().read(start..<end) == video.subdata(in: expected))
    }

    @Test func `an object that was replaced is noticed`() async throws {
        let reader = await reader()
        _ = try await reader.read(0..<10)
        await bench.s3.store("photos/u_1/v.dat", numbered(200))
        #expect(await bench.code { try await reader.read(10..<20) } == .conditionFailed)
    }

    @Test func `a store that has no conditions is noticed, too`() async throws {
        let reader = await reader()
        _ = try await reader.read(0..<10)
        await bench.s3.set("Last-Modified", "Sat, 21 Nov 2026 14:00:00 GMT", of: "photos/u_1/v.dat")
        #expect(await bench.code { try await reader.read(10..<20) } == .conditionFailed)
    }

    @Test func `an object that is not there is reported as such`() async throws {
        let reader = RangeReader(client: bench.client(), key: "photos/u_1/v.dat")
        #expect(await bench.code { try await reader.info() } == .noSuchObject)
        await bench.s3.store("photos/u_1/v.dat", video)
        #expect(try await reader.read(0..<3) == video[0..<3])
    }

    @Test(arguments: [(-1, 3), (0, 8_388_609), (0, .max)] as [(Int64, Int64)])
    func `a range that is too long is refused`(start: Int64, end: Int64) async throws {
        let reader = await reader()
        #expect(await bench.code { try await reader.read(start..<end) } == .invalidRequest)
    }
}
