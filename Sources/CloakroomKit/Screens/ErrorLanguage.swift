public import Foundation

/// The language of errors: the app's translations, and English where it has none.
///
/// The app's texts stand in a string table of its own, `Cloakroom`, by the keys of ``ErrorText`` and ``ErrorSuggestion``:
/// there ``CloakroomError`` finds them for its `localizedDescription`, too. Other places are for the closure.
public struct ErrorLanguage: Sendable {
    /// The app's text of a key; `nil`: the English one.
    public typealias Translation = @Sendable (_ key: String) -> String?

    private let locale: Locale
    private let translation: Translation

    /// - Parameter locale: of durations.
    public init(locale: Locale = .current, translation: @escaping Translation) {
        self.locale = locale
        self.translation = translation
    }

    /// - Parameters:
    ///   - locale: of durations.
    ///   - bundle: has the table `Cloakroom`.
    public init(locale: Locale = .current, bundle: Bundle = .main) {
        self.init(locale: locale) { key in
            let text = bundle.localizedString(forKey: key, value: nil, table: "Cloakroom")
            // What a bundle gives for a key that it does not have.
            return text == key || text.isEmpty ? nil : text
        }
    }

    public func text(_ key: ErrorText) -> String { translation(key.rawValue) ?? key.english }

    /// What went wrong. ``CloakroomError/message`` is for the developer, and no part of it.
    public func description(of error: CloakroomError) -> String { text(ErrorText(of: error.code)) }

    /// What the user can do about it, such as "Try again in 30 seconds."
    public func recoverySuggestion(for error: CloakroomError) -> String {
        let suggestion = ErrorText(of: error.code).suggestion
        guard let wait = error.retryAfter, suggestion == .tryAgain || suggestion == .tryLater else {
            return text(suggestion, [])
        }
        return text(.tryAfter, [text(of: wait)])
    }

    private func text(_ key: ErrorSuggestion, _ arguments: [String]) -> String {
        TextTemplate(translation(key.rawValue) ?? key.english).filled(with: arguments)
    }

    /// In whole seconds, none of them too early, and no more than two units.
    private func text(of wait: Duration) -> String {
        let seconds = wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0)
        let style = Duration.UnitsFormatStyle(
            allowedUnits: [.days, .hours, .minutes, .seconds], width: .wide, maximumUnitCount: 2)
        return Duration.seconds(max(seconds, 1)).formatted(style.locale(locale))
    }
}
