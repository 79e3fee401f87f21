/// A shared config or credentials file: sections of properties.
///
/// Source: AWS SDKs and Tools Reference Guide, "Shared config and credentials files".
struct SharedConfigFile {
    struct Section: Equatable {
        /// As between the brackets.
        let title: String
        /// Of nested ones under `name =`, the key is `name.inner`.
        var properties: [String: String] = [:]
    }

    private(set) var sections: [Section] = []

    /// - Throws: the number of a line that is no section, property or comment; 0 for a file that is too large.
    init(_ bytes: [UInt8]) throws(ParsingError) {
        guard bytes.count <= 1 << 20 else { throw ParsingError(line: 0) }
        var outer: String?
        for (index, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            let text = String(decoding: line, as: UTF8.self)
            let content = text.trimmed
            guard let first = content.first, first != "#", first != ";" else { continue }
            if first == "[", text.first == "[" {
                guard let title = Self.title(content) else { throw ParsingError(line: index + 1) }
                sections.append(Section(title: title))
                outer = nil
                continue
            }
            guard !sections.isEmpty else { throw ParsingError(line: index + 1) }
            let isInner = text.utf8.first == 0x20 || text.utf8.first == 0x09
            guard let (name, value) = Self.property(content) else {
                // What goes on from the line before is never a part of what we read.
                if isInner { continue }
                throw ParsingError(line: index + 1)
            }
            let last = sections.count - 1
            if isInner, let outer {
                sections[last].properties["\(outer).\(name)"] = value
            } else {
                sections[last].properties[name] = value
                outer = value.isEmpty ? name : nil
            }
        }
    }

    struct ParsingError: Error, Equatable { let line: Int }

    private static func title(_ line: String) -> String? {
        guard let end = line.firstIndex(of: "]") else { return nil }
        let words = line[line.index(after: line.startIndex)..<end].trimmed.split(whereSeparator: \.isWhitespace)
        guard !words.isEmpty else { return nil }
        return words.joined(separator: " ").replacing("\"", with: "").replacing("'", with: "")
    }

    private static func property(_ line: String) -> (name: String, value: String)? {
        guard let mark = line.firstIndex(of: "=") else { return nil }
        let name = line[..<mark].trimmed.lowercased()
        guard !name.isEmpty else { return nil }
        var value = line[line.index(after: mark)...]
        // A comment begins behind a blank.
        for comment in [" #", " ;", "\t#", "\t;"] {
            if let start = value.firstRange(of: comment)?.lowerBound { value = value[..<start] }
        }
        return (name, value.trimmed)
    }
}

/// The profiles of the shared config and credentials files.
///
/// Source: AWS SDKs and Tools Reference Guide, "Shared config and credentials files"; botocore 1.44.5, `session.py`:
/// where both files have a property, the credentials file's counts.
package struct SharedProfiles: Sendable {
    struct Profile: Sendable {
        let name: String
        fileprivate(set) var config: [String: String] = [:]
        fileprivate(set) var credentials: [String: String] = [:]

        subscript(property: String) -> String? {
            (credentials[property] ?? config[property]).flatMap { $0.isEmpty ? nil : $0 }
        }
    }

    /// The name of the default profile, or the configured one.
    let chosen: String
    /// Whether it was named explicitly: then it has to exist.
    let isNamed: Bool
    private var profiles: [String: Profile] = [:]
    private var services: [String: [String: String]] = [:]

    /// - Parameters:
    ///   - profile: the one that the settings name; `nil`: `AWS_PROFILE`'s, else `default`.
    ///   - readFile: the bytes of a file, `nil` when it cannot be read.
    package init(
        environment: AWSEnvironment, profile: String? = nil, readFile: (String) -> [UInt8]?
    ) throws(CredentialProviderError) {
        let named = profile ?? environment["AWS_PROFILE"]
        chosen = named ?? "default"
        isNamed = named != nil
        for section in try Self.sections(environment, "AWS_CONFIG_FILE", "config", readFile) {
            let words = section.title.split(separator: " ", maxSplits: 1)
            if section.title == "default" || (words.first == "profile" && words.count == 2) {
                let name = section.title == "default" ? "default" : String(words[1])
                profiles[name, default: Profile(name: name)].config.merge(section.properties) { $1 }
            } else if words.first == "services", words.count == 2 {
                services[String(words[1]), default: [:]].merge(section.properties) { $1 }
            }
        }
        for section in try Self.sections(environment, "AWS_SHARED_CREDENTIALS_FILE", "credentials", readFile) {
            profiles[section.title, default: Profile(name: section.title)].credentials
                .merge(section.properties) { $1 }
        }
    }

    func profile(_ name: String) -> Profile? { profiles[name] }

    /// A property of the chosen profile.
    func property(_ name: String) -> String? { profiles[chosen]?[name] }

    /// A property of a service (`[services …]`, nested under its name) that the chosen profile refers to.
    func property(_ name: String, ofService service: String) -> String? {
        property("services").flatMap { services[$0]?["\(service).\(name)"] }
    }

    private static func sections(
        _ environment: AWSEnvironment, _ variable: String, _ name: String, _ readFile: (String) -> [UInt8]?
    ) throws(CredentialProviderError) -> [SharedConfigFile.Section] {
        let home = environment["HOME"]
        guard var path = environment[variable] ?? home.map({ "\($0)/.aws/\(name)" }) else { return [] }
        if path.hasPrefix("~/"), let home { path = home + path.dropFirst() }
        guard let bytes = readFile(path) else { return [] }
        do throws(SharedConfigFile.ParsingError) {
            return try SharedConfigFile(bytes).sections
        } catch {
            throw .failed(
                error.line == 0
                    ? "\(path) is too large"
                    : "\(path), line \(error.line): neither a section, a property nor a comment")
        }
    }
}
