import CloakroomKit
public import Foundation

/// The language of the screens: the app's translations, and English where it has none.
///
///     let language = TierLanguage { key, _ in
///         let text = Bundle.main.localizedString(forKey: key.rawValue, value: nil, table: "Tiers")
///         return text == key.rawValue ? nil : text
///     }
public struct TierLanguage: Sendable {
    /// The app's text of a key; `nil`: the English one.
    ///
    /// - Parameter count: of the photos or days it is about, for languages with more than one plural; `nil` for texts
    ///   without.
    public typealias Translation = @Sendable (_ key: TierText, _ count: Int?) -> String?

    private let locale: Locale
    private let timeZone: TimeZone
    private let translation: Translation

    /// - Parameters:
    ///   - locale: of numbers, sizes and dates.
    ///   - timeZone: of dates.
    public init(
        locale: Locale = .current, timeZone: TimeZone = .current, translation: @escaping Translation = { _, _ in nil }
    ) {
        self.locale = locale
        self.timeZone = timeZone
        self.translation = translation
    }

    /// - Parameter arguments: what `%1$@`, `%2$@` … of the text are replaced by.
    public func text(_ key: TierText, _ arguments: String..., count: Int? = nil) -> String {
        let text = translation(key, count) ?? (count == 1 ? key.englishForOne : nil) ?? key.english
        return TextTemplate(text).filled(with: arguments)
    }

    /// Such as "1.2 GB": of 1,000 bytes, as the system's settings show it.
    public func bytes(_ count: Int64) -> String {
        count.formatted(ByteCountFormatStyle(style: .file, spellsOutZero: false, locale: locale))
    }

    /// Such as "1,200".
    public func number(_ number: Int) -> String { number.formatted(IntegerFormatStyle<Int>(locale: locale)) }

    /// Such as "45%".
    public func percent(_ fraction: Double) -> String {
        min(max(fraction, 0), 1).formatted(
            FloatingPointFormatStyle<Double>.Percent(locale: locale).precision(.fractionLength(0)))
    }

    /// Such as "24 December 2025".
    public func day(_ date: Date) -> String {
        date.formatted(Date.FormatStyle(date: .long, time: .omitted, locale: locale, timeZone: timeZone))
    }

    /// Such as "12 photos".
    public func photos(_ count: Int) -> String { text(.photos, number(count), count: count) }
}
