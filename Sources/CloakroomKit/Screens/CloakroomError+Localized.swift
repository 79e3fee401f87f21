public import Foundation

extension CloakroomError: LocalizedError {
    /// For the app's users, in the app's language: see ``ErrorLanguage``.
    public var errorDescription: String? { ErrorLanguage().description(of: self) }

    /// What the app's users can do about it.
    public var recoverySuggestion: String? { ErrorLanguage().recoverySuggestion(for: self) }
}
