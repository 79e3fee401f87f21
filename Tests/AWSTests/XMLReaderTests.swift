import CloakroomAWS
import Foundation
import Testing

#if canImport(FoundationXML)
    import FoundationXML
#endif

struct XMLReaderTests {
    @Test func `reads elements, text, entities and CDATA`() throws {
        let text = """
            \u{FEFF}
              <?xml version="1.0" encoding="UTF-8"?><!-- hello -->
            <a:root xmlns:a="urn:x" b='&lt;"'><one>1 &amp; &#x32;&#51;<![CDATA[<&>]]></one><two/>
            <one>é</one><?pi?></a:root >\n<!---->
            """
        var root = Tree(name: "root")
        var one = Tree(name: "one")
        one.text = "1 & 23<&>"
        var other = Tree(name: "one")
        other.text = "é"
        root.children = [one, Tree(name: "two"), other]
        root.text = "\n"
        let read = try XMLReader.read(Array(text.utf8))
        #expect(Tree(read) == root)
        #expect(read.text(of: "one") == "1 & 23<&>" && read["two"]?.text == "" && read["three"] == nil)
        #expect(read.hasName("root") && !read.hasName("a:root"))
    }

    @Test(arguments: 0...70)
    func `finds a reference and a line end anywhere in a long text`(place: Int) throws {
        let (before, after) = (String(repeating: "b", count: place), String(repeating: "a", count: 70 - place))
        let root = try XMLReader.read(Array("<a>\(before)&lt;\(after)\r\n</a>".utf8))
        #expect(root.text == "\(before)<\(after)\n")
        #expect(throws: XMLError.malformed) { try XMLReader.read(Array("<a>\(before)]]>\(after)</a>".utf8)) }
    }

    @Test(arguments: [
        "", " ", "x", "<", "<a", "<a>", "<a></b>", "<a/><b/>", "<a><b></a></b>", "<a>&nbsp;</a>", "<a>&</a>",
        "<a>&#0;</a>", "<a>&#xD800;</a>", "<a>&#x110000;</a>", "<a>\u{1}</a>", "<a b>x</a>", "<a b=c/>", "<a b='<'/>",
        "<a b='1' b='2'/>", "<a b='1'c='2'/>", "<1/>", "<a>]]></a>", "<a><![CDATA[x</a>", "<!-- -- --><a/>", "<a/>x",
        "<html><body><br></body></html>", "{\"a\":1}", "<a>&#;</a>", "<a>&#x;</a>", "<a></a",
    ])
    func `refuses what is malformed`(text: String) {
        #expect(throws: XMLError.malformed) { try XMLReader.read(Array(text.utf8)) }
    }

    @Test func `refuses what is not UTF-8`() {
        for bytes in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82]] as [[UInt8]] {
            let document = Array("<a>".utf8) + bytes + Array("</a>".utf8)
            #expect(throws: XMLError.malformed) { try XMLReader.read(document) }
        }
    }

    @Test(arguments: [
        #"<!DOCTYPE a><a/>"#,
        #"<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>"#,
        #"<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><a>&b;</a>"#,
        "<!doctype html><html></html>", "<a><!ELEMENT b></a>",
    ])
    func `refuses a declaration before it has read it`(text: String) {
        #expect(throws: XMLError.declaration) { try XMLReader.read(Array(text.utf8)) }
    }

    @Test func `refuses what is too large, too deep or too many`() {
        let large = "<a>" + String(repeating: "x", count: 1 << 18) + "</a>"
        let deep = String(repeating: "<a>", count: 100_000)
        let many = "<a>" + String(repeating: "<b/>", count: 5000) + "</a>"
        for text in [large, deep.prefix(1 << 17).description, many] {
            #expect(throws: XMLError.tooLarge) { try XMLReader.read(Array(text.utf8)) }
        }
    }

    /// What we accept, libxml2 accepts, and it sees the same.
    @Test func `never accepts or reads more than libxml2 does`() {
        let seeds = [UpstreamDocuments.copied, UpstreamDocuments.assumed, UpstreamDocuments.error]
        var generator = SeededGenerator(seed: 42)
        var accepted = 0
        for _ in 0..<20_000 {
            let document = seeds.randomElement(using: &generator)?.mutated(using: &generator) ?? []
            guard let ours = try? XMLReader.read(document) else { continue }
            accepted += 1
            guard let theirs = Reference.read(document) else {
                Issue.record("accepted \(String(decoding: document, as: UTF8.self))")
                continue
            }
            #expect(Tree(ours) == theirs)
        }
        #expect(accepted > 1000)
    }
}

private struct Tree: Equatable {
    var name: String
    var text = ""
    var children: [Tree] = []

    init(name: String) { self.name = name }

    init(_ element: CloakroomAWS.XMLElement) {
        name = element.name
        text = element.text
        children = element.children.map { Tree($0) }
    }
}

/// The same tree by Foundation's parser.
private final class Reference: NSObject, XMLParserDelegate {
    private var open: [Tree] = [Tree(name: "")]

    static func read(_ bytes: [UInt8]) -> Tree? {
        let parser = XMLParser(data: Data(bytes.drop { [0x20, 0x0A, 0x0D, 0x09].contains($0) }))
        let reference = Reference()
        parser.delegate = reference
        guard parser.parse() else { return nil }
        return reference.open.first?.children.first
    }

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String] = [:]
    ) {
        open.append(Tree(name: String(name.split(separator: ":").last ?? "")))
    }

    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
        guard let element = open.popLast(), !open.isEmpty else { return }
        open[open.count - 1].children.append(element)
    }

    func parser(_ parser: XMLParser, foundCharacters text: String) { open[open.count - 1].text += text }

    func parser(_ parser: XMLParser, foundCDATA data: Data) {
        open[open.count - 1].text += String(decoding: data, as: UTF8.self)
    }
}
