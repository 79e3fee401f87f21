import Foundation
import Testing

@testable import CloakroomTiers

@Suite(.serialized) struct JPEGDimensionsTests {
    /// SOI, a comment of four bytes, two bytes that fill up, and the frame of a progressive JPEG of 300 × 200.
    private static let jpeg: [UInt8] =
        [0xff, 0xd8, 0xff, 0xfe, 0, 6, 1, 2, 3, 4, 0xff, 0xff, 0xff, 0xc2, 0, 17, 8, 0, 200, 1, 44, 3]

    @Test func `the frame header says width and height`() {
        let dimensions = JPEGDimensions(of: Data(Self.jpeg))
        #expect(dimensions?.width == 300)
        #expect(dimensions?.height == 200)
        // A slice counts from elsewhere.
        #expect(JPEGDimensions(of: Data([0] + Self.jpeg).dropFirst()) == dimensions)
    }

    @Test func `a JPEG that ends before has none`() {
        for count in 0..<Self.jpeg.count - 1 { #expect(JPEGDimensions(of: Data(Self.jpeg.prefix(count))) == nil) }
    }

    @Test(arguments: [
        // Tables of Huffman codes are no frame.
        [0xff, 0xd8, 0xff, 0xc4, 0, 6, 8, 0, 200, 1, 44, 3],
        [0xff, 0xd8, 0xff, 0xfe, 0, 0, 0, 0, 0, 0, 0, 0],
        [0xff, 0xd8, 0xff, 0xc0, 0, 17, 8, 0, 0, 0, 0, 3],
        Array("GIF89a and more".utf8),
    ])
    func `what is no JPEG of a size has none`(bytes: [UInt8]) {
        #expect(JPEGDimensions(of: Data(bytes)) == nil)
    }
}
