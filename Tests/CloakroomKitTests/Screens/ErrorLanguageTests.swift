import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct ErrorLanguageTests {
    private static let english = ErrorLanguage(locale: Locale(identifier: "en_US")) { _ in nil }

    /// All that stand in the sources of the libraries, those of CloakroomTiers and CloakroomMessages, too.
    private static func codes() throws -> Set<String> {
        let sources = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().appendingPathComponent("../../../Sources").standardizedFileURL
        var codes: Set<String> = []
        for file in [
            "CloakroomKit/CloakroomError.swift", "CloakroomTiers/Values/CloakroomError+Tiers.swift",
            "CloakroomMessages/Values/CloakroomError+Messages.swift",
        ] {
            let text = try String(contentsOf: sources.appendingPathComponent(file), encoding: .utf8)
            for match in text.matches(of: /static let \w+ = (?:Code|Self)\(rawValue: "(\w+)"\)/) {
                codes.insert(String(match.1))
            }
        }
        return codes
    }

    @Test func `every code has a text and a suggestion of its own, and no text is without a code`() throws {
        let codes = try Self.codes()
        #expect(codes.isSuperset(of: CloakroomError.Code.known.map(\.rawValue)))
        #expect(Set(ErrorText.allCases.map(\.rawValue)) == Set(codes.map { "error.\($0)" }))
        for code in codes {
            let error = CloakroomError(.init(rawValue: code), "for developers")
            #expect(ErrorText(of: error.code).rawValue == "error.\(code)")
            for text in [error.errorDescription, error.recoverySuggestion] {
                #expect(text?.isEmpty == false, "\(code)")
                #expect(text?.contains("for developers") == false, "\(code)")
                #expect(text?.contains("%") == false, "\(code)")
            }
            #expect(error.localizedDescription == error.errorDescription)
        }
    }

    @Test func `no two codes have the same text, and no two suggestions`() {
        let keys = ErrorText.allCases.map(\.rawValue) + ErrorSuggestion.allCases.map(\.rawValue)
        let texts = ErrorText.allCases.map(\.english) + ErrorSuggestion.allCases.map(\.english)
        #expect(Set(keys).count == keys.count)
        #expect(Set(texts).count == texts.count)
        #expect(texts.allSatisfy { $0.hasSuffix(".") && $0.first?.isUppercase == true })
        #expect(Set(ErrorText.allCases.map(\.suggestion)).union([.tryAfter]) == Set(ErrorSuggestion.allCases))
    }

    @Test func `users are told to try again where the same call can succeed, and only there`() throws {
        let retrying: Set<ErrorSuggestion> = [
            .tryAgain, .tryLater, .tryThenSignIn, .connect, .useFreeNetwork, .charge, .signInToNetwork,
            .closeElsewhere,
        ]
        for code in try Self.codes() {
            let error = CloakroomError(.init(rawValue: code), "")
            #expect(retrying.contains(ErrorText(of: error.code).suggestion) == error.isRetryable, "\(code)")
        }
    }

    @Test(arguments: [
        (Duration.seconds(30), "Try again in 30 seconds."), (.milliseconds(200), "Try again in 1 second."),
        (.milliseconds(59_001), "Try again in 1 minute."), (.seconds(5400), "Try again in 1 hour, 30 minutes."),
        (.zero, "Try again in 1 second."),
    ])
    func `a suggestion says how long the server wants to be left alone`(wait: Duration, text: String) {
        let error = CloakroomError(.tooManyRequests, "", retryAfter: wait)
        #expect(Self.english.recoverySuggestion(for: error) == text)
        let revoked = CloakroomError(.sessionRevoked, "", retryAfter: wait)
        #expect(Self.english.recoverySuggestion(for: revoked) == "Sign in again.")
    }

    @Test func `a code of a later version has the text of the unknown one`() {
        let error = CloakroomError(.init(rawValue: "of_tomorrow"), "for developers")
        #expect(Self.english.description(of: error) == "Something went wrong.")
    }

    @Test func `the app's texts go first, from a closure or from its table of strings`() throws {
        let folder = try TemporaryFolder()
        try folder.write(
            "en.lproj/Cloakroom.strings",
            """
            "error.disk_full" = "Voll.";
            "error.suggestion.tryAfter" = "In %1$@ wieder.";
            """)
        let bundle = try #require(Bundle(path: folder.url.path))
        let locale = Locale(identifier: "de_DE")
        let texts = ["error.disk_full": "Voll.", "error.suggestion.tryAfter": "In %1$@ wieder."]
        for language in [
            ErrorLanguage(locale: locale, bundle: bundle), ErrorLanguage(locale: locale) { texts[$0] },
        ] {
            #expect(language.description(of: CloakroomError(.diskFull, "")) == "Voll.")
            #expect(language.description(of: CloakroomError(.timedOut, "")) == ErrorText.timedOut.english)
            let error = CloakroomError(.unavailable, "", retryAfter: .seconds(60))
            #expect(language.recoverySuggestion(for: error) == "In 1 Minute wieder.")
        }
    }
}
