import StrictJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A JSON5 text as a value tree.
struct SettingsTree: Decodable {
    let json: JSON

    /// - Throws: one fault for the file as a whole.
    static func root(of text: [UInt8]) throws(SettingsFault) -> JSON.Object {
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        do {
            let tree = try decoder.decode(SettingsTree.self, from: Data(text))
            guard let root = tree.json.object else {
                throw SettingsFault("", "the file holds no object", "begin it with { and end it with }")
            }
            return root
        } catch let fault as SettingsFault {
            throw fault
        } catch {
            throw SettingsFault("", "the file is not JSON5: \(Self.reason(error))", "mend it there")
        }
    }

    private static func reason(_ error: any Error) -> String {
        guard case DecodingError.dataCorrupted(let context) = error else { return "it nests too deep" }
        guard let inner = context.underlyingError else { return context.debugDescription }
        // Only this error's text has the line; it is not in its description.
        let text = "\(inner)"
        return text.firstMatch(of: /line [0-9]+, column [0-9]+/).map { String($0.0) } ?? context.debugDescription
    }

    private struct Name: CodingKey {
        let stringValue: String
        let intValue: Int? = nil

        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        if let object = try? decoder.container(keyedBy: Name.self) {
            // The decoder keeps no order; this one at least is always the same.
            let names = object.allKeys.sorted { $0.stringValue < $1.stringValue }
            json = .object(
                JSON.Object(
                    members: try names.map {
                        JSON.Object.Member(name: $0.stringValue, value: try object.decode(Self.self, forKey: $0).json)
                    }))
        } else if var array = try? decoder.unkeyedContainer() {
            var elements: [JSON] = []
            while !array.isAtEnd { elements.append(try array.decode(Self.self).json) }
            json = .array(elements)
        } else {
            let scalar = try decoder.singleValueContainer()
            if scalar.decodeNil() {
                json = .null
            } else if let flag = try? scalar.decode(Bool.self) {
                json = .bool(flag)
            } else if let number = try? scalar.decode(Double.self) {
                json = .number(number)
            } else {
                json = .string(try scalar.decode(String.self))
            }
        }
    }
}
