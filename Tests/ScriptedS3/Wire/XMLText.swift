import Foundation
import FoundationXML

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

/// A document that a client sent, read by libxml2.
final class XMLTree {
    let name: String
    private(set) var children: [XMLTree] = []
    private(set) var text = ""

    private init(_ name: String) { self.name = name }

    static func read(_ bytes: [UInt8]) -> XMLTree? {
        let reading = Reading()
        let parser = XMLParser(data: Data(bytes))
        parser.delegate = reading
        return parser.parse() ? reading.root : nil
    }

    subscript(name: String) -> XMLTree? { children.first { $0.name == name } }

    func all(_ name: String) -> [XMLTree] { children.filter { $0.name == name } }

    func text(_ name: String) -> String? { self[name]?.text.trimmingCharacters(in: .whitespacesAndNewlines) }

    private final class Reading: NSObject, XMLParserDelegate {
        var root: XMLTree?
        private var open: [XMLTree] = []

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
            attributes: [String: String]
        ) {
            let element = XMLTree(name)
            open.last?.children.append(element)
            if root == nil { root = element }
            open.append(element)
        }

        func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
            open.removeLast()
        }

        func parser(_ parser: XMLParser, foundCharacters text: String) { open.last?.text += text }
    }
}
