import CloakroomKit
import Foundation
import Testing

@testable import CloakroomTiers

@Suite(.serialized) struct TierLanguageTests {
    private let english = TierLanguage(locale: Locale(identifier: "en_US"), timeZone: .gmt)

    @Test(arguments: [
        (Int64(0), "0 bytes"), (1, "1 byte"), (150_000, "150 kB"), (1_234_567, "1.2 MB"),
        (15_300_000_000, "15.3 GB"), (2_000_000_000_000, "2 TB"),
    ])
    func `writes sizes as the system does`(count: Int64, text: String) {
        #expect(english.bytes(count) == text)
    }

    @Test func `writes sizes, numbers and dates in the user's way`() {
        let german = TierLanguage(locale: Locale(identifier: "de_DE"), timeZone: .gmt)
        #expect(german.bytes(15_300_000_000) == "15,3\u{a0}GB")
        #expect(german.number(10_800) == "10.800")
        #expect(german.day(Date(milliseconds: 1_766_577_600_000)) == "24. Dezember 2025")
    }

    @Test(arguments: [(0.0, "0%"), (0.454, "45%"), (1, "100%"), (1.2, "100%"), (-1, "0%")])
    func `writes fractions from 0 to 100 percent`(fraction: Double, text: String) {
        #expect(english.percent(fraction) == text)
    }

    @Test func `knows one from many`() {
        #expect(english.photos(0) == "0 photos")
        #expect(english.photos(1) == "1 photo")
        #expect(english.photos(1200) == "1,200 photos")
    }

    @Test func `uses the app's texts, and English where it has none`() {
        let app = TierLanguage(locale: Locale(identifier: "de_DE")) { key, count in
            key == .photos ? (count == 1 ? "%1$@ Foto" : "%1$@ Fotos") : nil
        }
        #expect(app.photos(1) == "1 Foto")
        #expect(app.photos(2) == "2 Fotos")
        #expect(app.text(.loading) == "Loading…")
    }

    @Test func `puts each argument where the text says, and only there`() {
        let swapped = TierLanguage { _, _ in "%2$@ of %1$@, %1$@, %3$@, 100%" }
        #expect(swapped.text(.usageOfQuota, "%2$@", "b") == "b of %2$@, %2$@, %3$@, 100%")
    }

    @Test func `describes a photo by its day and its badges`() {
        let item = TimelineItem.sample(1, place: .cold, isPinned: true)
        #expect(english.label(of: item) == "Photo, December 24, 2025, in the cloud, pinned")
    }

    @Test func `recommends 30 days`() {
        #expect(
            RetentionPolicy.Period.allCases.map(english.text(of:))
                == ["7 days", "30 days (recommended)", "90 days", "For ever"])
    }

    @Test func `has a text of its own for each key and each case`() {
        #expect(Set(TierText.allCases.map(\.english)).count == TierText.allCases.count - Self.same.count)
        #expect(TierText.allCases.allSatisfy { !$0.english.isEmpty && $0.rawValue.hasPrefix("tiers.") })
        for key in TierText.allCases {
            guard let one = key.englishForOne else { continue }
            #expect(places(one) == places(key.english), "\(key)")
        }
    }

    @Test func `tells why removed photos stay in the cloud`() throws {
        let device = AbsentDevice(
            id: try #require(DeviceID(rawValue: "b")), lastPublished: Date(timeIntervalSince1970: 1_766_577_600),
            since: Date(timeIntervalSince1970: 1_766_836_800))
        let text = english.text(of: device)
        #expect(text.contains("since December 27, 2025") && text.contains("last seen December 24, 2025"))
    }

    /// Buttons that say the same: to confirm a task, and to go on after an alarm.
    private static let same: [TierText] = [.dismissAlarm]

    private func places(_ text: String) -> [Bool] { (1...3).map { text.contains("%\($0)$@") } }

    @Test(arguments: TierAlarm.Kind.allCases)
    func `says of each alarm what is wrong and what to do`(kind: TierAlarm.Kind) {
        let alarm = TierAlarm(kind: kind, photoCount: 12, example: "", since: Date())
        #expect(!english.title(of: alarm).contains("%"))
        #expect(!english.action(for: alarm).isEmpty)
        #expect(english.title(of: alarm).contains("12 photos") == ![.accountChanged, .dismissed].contains(kind))
    }

    /// Those that a store and its tiers throw.
    @Test(arguments: [
        CloakroomError.Code.photoCollision, .photoExpiring, .photoMissing, .photoDamaged, .noSuchPhoto, .storeInUse,
        .accountChanged, .alarmRaised, .clockWentBack, .unauthorized, .sessionRevoked, .forbidden, .userDisabled,
        .subscriptionRequired, .storageQuotaExceeded, .tooManyRequests, .unavailable, .internalError, .unreachable,
        .timedOut, .tokenUnavailable, .untrusted, .cancelled, .notAllowedNow, .invalidResponse, .accessDenied,
        .noSuchObject, .archived, .checksumMismatch, .unreadableFile, .unwritableFile, .diskFull, .storeFailed,
        .storeOwnerMismatch, .zoneDeleted, .encryptedDataReset,
    ])
    func `tells the user of each failure, in words of its own`(code: CloakroomError.Code) {
        let text = english.failure(CloakroomError(code, "for developers"))
        #expect(text != english.text(.failureOther))
        #expect(!text.contains("for developers"))
    }
}
