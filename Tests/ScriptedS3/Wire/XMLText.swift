import CloakroomAWS
import Foundation

/// Writing XML.
enum XMLText {
    static let namespace = #" xmlns="http://s3.amazonaws.com/doc/2006-03-01/""#

    static func element(_ name: String, _ text: String) -> String { "<\(name)>\(escaped(text))</\(name)>" }

    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "\r": escaped += "&#13;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

/// A document that a client sent.
struct XMLTree {
    private let element: XMLElement

    static func read(_ bytes: [UInt8]) -> XMLTree? {
        // A deletion names 1,000 objects.
        let limits = XMLReader.Limits(bytes: 16 << 20, elements: 100_000)
        return (try? XMLReader.read(bytes, limits: limits)).map { XMLTree(element: $0) }
    }

    var name: String { element.name }
    var text: String { element.text }
    var children: [XMLTree] { element.children.map { XMLTree(element: $0) } }

    subscript(name: String) -> XMLTree? { element[name].map { XMLTree(element: $0) } }

    func all(_ name: String) -> [XMLTree] { children.filter { $0.name == name } }

    func text(_ name: String) -> String? { element.text(of: name)?.trimmingCharacters(in: .whitespacesAndNewlines) }
}
