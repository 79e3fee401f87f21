import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `cloakroom user set`
enum UserSet: UserCommand {
    static let syntax = UserCommandLine.syntax(
        "user set", "set tier, subscription and storage",
        values: ["tier": .text, "subscription-end": .text, "storage-limit": .text, "storage-used": .text],
        flags: ["accept-undated-tokens", "any-id"])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let (line, user) = try UserCommandLine.ofUser(options, makesRecord: true)
        let change = try change(options, line.settings)
        guard !change.isEmpty else { throw .usage("set takes something to set") }
        return line.withRecords { records in
            try await records.apply(change, to: user)
            return .success
        }
    }

    private static func change(_ options: Options, _ settings: Settings) throws(EarlyExit) -> UserRecordChange {
        let values = options.values
        var change = UserRecordChange()
        if options.flags.contains("accept-undated-tokens") { change.acceptUndatedTokens() }
        if let text = values["tier"] {
            if text != "none", let fault = settings.faultOfTier(text) { throw .usage("--tier \(fault)") }
            change.tier(text == "none" ? nil : text)
        }
        if let text = values["subscription-end"] {
            let end = DateArgument.date(text, from: Date())
            guard text == "none" || end != nil else {
                throw .usage("--subscription-end takes such as 2027-01-31T12:00:00Z, +30d, +12h, or none")
            }
            change.subscriptionEnd(end)
        }
        if let text = values["storage-limit"] {
            let limit = text == "unlimited" ? Int.max : ByteCountArgument.bytes(text)
            guard text == "none" || limit != nil else {
                throw .usage("--storage-limit takes such as 1000000, 50G, unlimited, or none")
            }
            change.storageLimit(limit)
        }
        if let text = values["storage-used"] {
            let used = ByteCountArgument.bytes(text)
            guard text == "none" || used != nil else {
                throw .usage("--storage-used takes such as 1000000, 50G, or none")
            }
            change.storageUsed(used)
        }
        return change
    }
}

/// Amounts of bytes as people write them.
enum ByteCountArgument {
    /// - Parameter text: digits, then nothing or one of K, M, G, T: powers of 1024. At most 18 digits come of it.
    static func bytes(_ text: String) -> Int? {
        let shifts: [Character: Int] = ["K": 10, "M": 20, "G": 30, "T": 40]
        let shift = text.last.flatMap { shifts[$0] }
        let digits = shift == nil ? text[...] : text.dropLast()
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(digits) else {
            return nil
        }
        let (bytes, overflows) = number.multipliedReportingOverflow(by: 1 << (shift ?? 0))
        return overflows || bytes > 999_999_999_999_999_999 ? nil : bytes
    }
}
