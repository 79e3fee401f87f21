/// The response to INFO: a line `name:value` each, with headings and empty lines between (redis.io, INFO).
package struct RedisInfo: Sendable, Equatable {
    private let values: [String: String]

    package init(_ text: String) {
        var values: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
            guard let colon = line.firstIndex(of: ":") else { continue }
            values[String(line[..<colon])] = String(line[line.index(after: colon)...])
        }
        self.values = values
    }

    package subscript(name: String) -> String? { values[name] }

    package func number(_ name: String) -> Int? { values[name].flatMap { Int($0) } }
}
