#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Answers one request with the fields of its answer.
typealias Verb = @Sendable (Fields) throws -> [String: JSONValue]

/// A request that is understood, but not ours to do.
struct UnsupportedError: Error {
    let why: String
}

/// A request that cannot be read.
struct RequestError: Error {
    let why: String
}

/// The fields of a request.
struct Fields {
    let values: [String: JSONValue]

    func string(_ name: String) throws -> String {
        guard let text = try optionalString(name) else { throw RequestError(why: "\(name) is missing") }
        return text
    }

    func optionalString(_ name: String) throws -> String? {
        switch values[name] {
        case .string(let text): return text
        case .null, nil: return nil
        default: throw RequestError(why: "\(name) is no string")
        }
    }

    func integer(_ name: String, default otherwise: Int? = nil) throws -> Int {
        switch values[name] {
        case .integer(let number): return number
        case .null, nil:
            guard let otherwise else { throw RequestError(why: "\(name) is missing") }
            return otherwise
        default: throw RequestError(why: "\(name) is no integer")
        }
    }

    func bool(_ name: String, default otherwise: Bool = false) throws -> Bool {
        switch values[name] {
        case .bool(let value): return value
        case .null, nil: return otherwise
        default: throw RequestError(why: "\(name) is neither true nor false")
        }
    }
}

/// One line for another; without a verb, none can be done.
func answer(_ line: String, with verb: Verb?) -> String {
    guard let request = try? JSONDecoder().decode([String: JSONValue].self, from: Data(line.utf8)) else {
        return encoded(["id": .null, "error": .string("no JSON object")])
    }
    let id = request["id"] ?? .null
    do {
        guard let verb else { throw UnsupportedError(why: "no such verb") }
        return encoded(try verb(Fields(values: request)).merging(["id": id]) { $1 })
    } catch let error as UnsupportedError {
        return encoded(["id": id, "unsupported": .string(error.why)])
    } catch let error as RequestError {
        return encoded(["id": id, "error": .string(error.why)])
    } catch {
        return encoded(["id": id, "error": .string("\(error)")])
    }
}

private func encoded(_ fields: [String: JSONValue]) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(fields) else { return #"{"error":"the answer is no JSON","id":null}"# }
    return String(decoding: data, as: UTF8.self)
}
