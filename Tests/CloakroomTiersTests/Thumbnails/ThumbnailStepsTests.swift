import Foundation
import Testing

@testable import CloakroomTiers

@Suite(.serialized) struct ThumbnailStepsTests {
    private let steps = ThumbnailSteps(maximumPixelSize: 256, maximumBytes: 1000)

    /// An encoder whose output depends on the number of pixels and the quality.
    private func attempts(bytesPerPixel: Double) -> (result: (size: Int, bytes: Int)?, tried: [String]) {
        var tried: [String] = []
        let result = steps.first(picture: { $0 }) { size, quality in
            tried.append("\(size) \(quality)")
            return Data(count: Int(Double(size * size) * bytesPerPixel * quality))
        }
        return (result.map { ($0.picture, $0.bytes.count) }, tried)
    }

    @Test func `keeps the best quality that is small enough`() {
        let (result, tried) = attempts(bytesPerPixel: 0.025)
        #expect(tried == ["256 0.8", "256 0.65", "256 0.5"])
        #expect(result?.size == 256)
        #expect(result?.bytes == 819)
    }

    @Test func `makes the picture smaller when the lowest quality is not enough`() {
        let (result, tried) = attempts(bytesPerPixel: 0.05)
        #expect(result?.size == 192)
        #expect(tried.suffix(2) == ["192 0.65", "192 0.5"])
        #expect((result?.bytes ?? 1001) <= 1000)
    }

    @Test func `a picture of exactly as many bytes as allowed is kept`() {
        let result = steps.first(picture: { $0 }) { size, _ in Data(count: size == 256 ? 1000 : 1) }
        #expect(result?.picture == 256)
        let larger = steps.first(picture: { $0 }) { size, _ in Data(count: size == 256 ? 1001 : 1) }
        #expect(larger?.picture == 192)
    }

    @Test func `a picture that is wanted smaller than any is made is made once`() {
        let small = ThumbnailSteps(maximumPixelSize: 20, maximumBytes: 1000)
        #expect(small.first(picture: { $0 }, encode: { _, _ in Data(count: 1) })?.picture == 20)
        var sizes: [Int] = []
        let result = small.first(picture: { sizes.append($0) }, encode: { _, _ in Data(count: 1001) })
        #expect(result == nil)
        #expect(sizes == [20])
    }

    @Test func `what cannot be encoded is not attempted again`() {
        var attempts = 0
        let result = steps.first(picture: { $0 }) { _, _ -> Data? in
            attempts += 1
            return attempts == 1 ? nil : Data(count: 1)
        }
        #expect(result == nil)
        #expect(attempts == 1)
    }

    @Test func `gives up on what never becomes small enough, or cannot be encoded`() {
        let (result, tried) = attempts(bytesPerPixel: 100)
        #expect(result?.size == nil)
        #expect(tried.count == 24)
        #expect(steps.first(picture: { $0 }, encode: { (_: Int, _) in nil })?.bytes == nil)
    }

    @Test(arguments: [
        (100, 100, 1), (1023, 1000, 1), (1024, 10, 2), (2047, 1, 2), (10, 2048, 4), (4095, 4095, 4), (4096, 1, 8),
        (60_000, 40_000, 8),
    ])
    func `leaves a decoder at least twice the pixels that are needed`(width: Int, height: Int, factor: Int) {
        #expect(steps.subsampleFactor(width: width, height: height) == factor)
    }

    @Test func `decodes huge pictures, and not those without end`() {
        #expect(steps.isDecodable(width: 12_000, height: 9_000))
        #expect(steps.isDecodable(width: 56_000, height: 56_000))
        #expect(!steps.isDecodable(width: 60_000, height: 60_000))
        #expect(!steps.isDecodable(width: Int.max, height: Int.max))
        #expect(!steps.isDecodable(width: 0, height: 10))
        #expect(!steps.isDecodable(width: 10, height: 0))
        #expect(!steps.isDecodable(width: -10, height: -10))
    }
}
