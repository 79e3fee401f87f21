import CloakroomKit
import Foundation
import Testing

@testable import CloakroomMessages

@Suite struct RetentionLanguageTests {
    private let english = RetentionLanguage(locale: Locale(identifier: "en_US"))

    @Test(arguments: [
        (0, "Not stored"), (1, "1 second"), (90, "90 seconds"), (300, "5 minutes"), (3600, "1 hour"),
        (5400, "90 minutes"), (86_400, "1 day"), (172_800, "2 days"), (604_800, "1 week"), (2_592_000, "30 days"),
        (31_536_000, "365 days"), (6_000_001, "6,000,001 seconds"), (nil, "For ever"),
    ])
    func `says how long a policy keeps messages, in the largest unit without a rest`(
        seconds: Int?, text: String
    ) throws {
        let policy = try #require(MessageRetentionPolicy(afterSent: seconds.map { .seconds($0) }))
        #expect(english.text(of: policy) == text)
    }

    @Test func `says where a policy is not the whole of it`() {
        #expect(
            english.hint(for: .noStorage, imageDays: 30)
                == "Messages are never written. They are gone when the conversation closes.")
        #expect(english.hint(for: .keep, imageDays: 30) == "Images are removed after 30 days all the same.")
        #expect(english.hint(for: .oneWeek, imageDays: 1) == "Images are removed after 1 day all the same.")
        #expect(english.hint(for: .oneWeek, imageDays: 7) == nil)
        #expect(english.hint(for: .keep, imageDays: nil) == nil)
    }

    @Test func `knows one from many, and none`() {
        #expect(english.messages(1) == "1 message")
        #expect(english.messages(1200) == "1,200 messages")
        #expect(english.arrivedExpired(0) == nil)
        #expect(english.arrivedExpired(1) == "1 message was over before it arrived.")
    }

    @Test func `uses the app's texts and numbers, and English where it has none`() {
        let app = RetentionLanguage(locale: Locale(identifier: "de_DE")) { key, count in
            key == .messages ? (count == 1 ? "%1$@ Nachricht" : "%1$@ Nachrichten") : nil
        }
        #expect(app.messages(1) == "1 Nachricht")
        #expect(app.messages(1200) == "1.200 Nachrichten")
        #expect(app.text(.deleteAll) == "Delete all messages")
    }

    @Test func `has a text of its own for each key, and says of one what it says of many`() {
        #expect(Set(RetentionText.allCases.map(\.english)).count == RetentionText.allCases.count)
        #expect(RetentionText.allCases.allSatisfy { !$0.english.isEmpty && $0.rawValue.hasPrefix("retention.") })
        for key in RetentionText.allCases {
            guard let one = key.englishForOne else { continue }
            #expect(places(one) == places(key.english), "\(key)")
            #expect(one != key.english, "\(key)")
        }
    }

    private func places(_ text: String) -> [Bool] { (1...3).map { text.contains("%\($0)$@") } }

    @Test func `tells one loss from the other`() {
        #expect(english.text(of: .vault) == english.text(.lossOfVault))
        #expect(english.text(of: .database) == english.text(.lossOfDatabase))
        #expect(english.text(of: .policies) == english.text(.lossOfPolicies))
    }

    /// Those that a storage, and a channel, throw.
    @Test(arguments: [
        CloakroomError.Code.diskFull, .storeFailed, .unreadableFile, .unwritableFile, .storeInUse, .vaultLocked,
        .vaultLost, .cancelled, .unreachable, .timedOut, .unavailable,
    ])
    func `tells the user of each failure, in words of its own`(code: CloakroomError.Code) {
        let text = english.failure(CloakroomError(code, "for developers"))
        #expect(text != english.text(.failureOther))
        #expect(!text.contains("for developers"))
    }
}
