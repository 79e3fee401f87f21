import CloakroomTestSupport
import Testing

@testable import CloakroomServer

struct TextShapeTests {
    /// What some shapes take, as regular expressions say it.
    private static var patterns: [(TextShape, Regex<Substring>)] {
        [
            (.region, /[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?/),
            (.endpoint, /https?:\/\/(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:]{2,45}\])(?::[0-9]{1,5})?/),
            (.roleARN, /arn:aws[a-z-]*:iam::(?:[0-9]{12})?:role\/[A-Za-z0-9_+=,.@\/-]{1,512}/),
            (.externalID, /[A-Za-z0-9_+=,.@:\/-]{2,1224}/),
            (.keyID, /[A-Za-z0-9_.-]{1,64}/),
            (.scope, /[a-z][a-z0-9_-]{0,31}/),
            (.mediaType, /[a-z0-9][a-z0-9.+-]{0,126}\/[a-z0-9][a-z0-9.+-]{0,126}/),
            (.baseURL, /https?:\/\/[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:\/[A-Za-z0-9._~-]+)*/),
            (.kmsKeyARN, /arn:aws[a-z-]*:kms:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?:[0-9]{12}:key\/[A-Za-z0-9-]{1,128}/),
            (.kmsKey, /[A-Za-z0-9:\/_-]{1,2048}/),
        ]
    }

    private static let sound = [
        "eu-central-1", "https://s3.example:9000", "http://[::1]:18333", "arn:aws-cn:iam::123456789012:role/a/b",
        "arn:aws:iam:::role/x", "arn:aws-us-gov:iam:::role/x",
        "key_1.a", "read-only", "image/svg+xml", "https://cdn.example/assets/v1", "alias/photos",
        "arn:aws:kms:eu-central-1:123456789012:key/mrk-1234abcd",
    ]

    /// Sound texts with a character put in, taken out or put in its place, and what lies at the edges of a length.
    @Test(arguments: SeededGenerator.freshSeeds)
    func `take what the regular expressions take, and nothing else`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let characters = Array("aZ09-_./:@[]?#+=, \u{e9}\\")
        var texts = Self.sound + ["", "-", String(repeating: "a", count: 63), String(repeating: "a", count: 64)]
        texts += (0..<4000).map { _ in
            var text = Array(Self.sound.randomElement(using: &generator)!)
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let place = Int.random(in: 0..<text.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: text.insert(characters.randomElement(using: &generator)!, at: place)
                case 1: text[place] = characters.randomElement(using: &generator)!
                default: if text.count > 1 { text.remove(at: place) }
                }
            }
            return String(text)
        }
        for (shape, pattern) in Self.patterns {
            for text in texts {
                #expect(shape.accepts(text) == (text.wholeMatch(of: pattern) != nil), "\(shape): \(text)")
            }
            #expect(texts.contains(where: shape.accepts), "\(shape)")
        }
    }
}
