import CloakroomHTTP

/// Which web pages may send requests to a bucket, and read what comes back.
///
/// S3 keeps one configuration a bucket, and putting one replaces it whole. For a request it takes the first rule that
/// permits its origin and method.
/// Source: S3 API Reference, PutBucketCors.
package struct CORSConfiguration: Sendable, Equatable {
    package var rules: [CORSRule]

    package init(rules: [CORSRule] = []) { self.rules = rules }

    static let maximumRules = 100

    /// - Throws: ``AWSError``. That the bucket has none is an empty configuration.
    init(_ response: UpstreamResponse) throws(AWSError) {
        let root = try? XMLReader.read(response.body)
        if response.status == 200, let root, root.hasName("CORSConfiguration") {
            self.init(rules: root.children.filter { $0.hasName("CORSRule") }.map { CORSRule(xml: XMLNode($0)) })
            return
        }
        let error = root.flatMap { AWSErrorResponse($0) }
        guard response.status == 404, error?.code == "NoSuchCORSConfiguration" else {
            throw AWSError(response, error: error)
        }
        self.init()
    }

    var document: [UInt8] {
        XMLNode("CORSConfiguration", rules.map(\.xml)).document(namespace: S3Client.namespace)
    }

    /// The rule that a store takes for a page's request.
    package func rule(for origin: String, _ method: String) -> CORSRule? {
        rules.first { $0.permits(origin: origin) && $0.methods.contains(method) }
    }
}

/// One rule of a bucket's CORS configuration: the XML as it came, and what we read in it.
///
/// Whatever is not understood stays in it, so that writing a configuration back loses nothing.
/// Source: S3 API Reference, CORSRule.
package struct CORSRule: Sendable, Equatable {
    package let xml: XMLNode

    package init(xml: XMLNode) { self.xml = xml }

    /// - Parameter maximumAge: in seconds, how long a browser remembers the permission.
    package init(
        id: String, origins: [String], methods: [String], headers: [String], exposed: [String], maximumAge: Int
    ) {
        func each(_ name: String, _ texts: [String]) -> [XMLNode] { texts.map { XMLNode(name, $0) } }
        xml = XMLNode(
            "CORSRule",
            [XMLNode("ID", id)] + each("AllowedHeader", headers) + each("AllowedMethod", methods)
                + each("AllowedOrigin", origins) + each("ExposeHeader", exposed)
                + [XMLNode("MaxAgeSeconds", "\(maximumAge)")])
    }

    /// Empty when it has none.
    package var id: String { xml["ID"]?.text ?? "" }
    /// Each may have one asterisk.
    package var origins: [String] { texts("AllowedOrigin") }
    package var methods: [String] { texts("AllowedMethod") }
    /// What a page may send; each may have one asterisk.
    package var headers: [String] { texts("AllowedHeader") }
    /// What a page may read.
    package var exposed: [String] { texts("ExposeHeader") }
    package var maximumAge: Int? {
        xml["MaxAgeSeconds"].flatMap { StoredNumber.number($0.text, in: 0...Int(Int32.max)) }
    }

    /// What stands in the rule that we cannot read, by its name.
    package var unknown: [String] {
        xml.elements.map(\.name).filter { !Self.knownElements.contains($0) }
            + (xml["MaxAgeSeconds"] != nil && maximumAge == nil ? ["MaxAgeSeconds"] : [])
    }

    package func permits(origin: String) -> Bool { origins.contains { Self.matches($0, origin) } }

    /// - Parameter header: in any case.
    package func permits(header: String) -> Bool {
        headers.contains { Self.matches($0.lowercased(), header.lowercased()) }
    }

    package func exposes(_ header: String) -> Bool {
        exposed.contains { $0.lowercased() == header.lowercased() }
    }

    /// Whether both say the same, whatever their names and the order of their elements.
    package func meansTheSame(as other: CORSRule) -> Bool {
        Set(origins) == Set(other.origins) && differsInOriginsAlone(from: other)
    }

    package func differsInOriginsAlone(from other: CORSRule) -> Bool {
        func lower(_ texts: [String]) -> Set<String> { Set(texts.map { $0.lowercased() }) }
        return Set(methods) == Set(other.methods) && lower(headers) == lower(other.headers)
            && lower(exposed) == lower(other.exposed) && maximumAge == other.maximumAge && unknown.isEmpty
            && other.unknown.isEmpty
    }

    private static let knownElements: Set<String> = [
        "ID", "AllowedOrigin", "AllowedMethod", "AllowedHeader", "ExposeHeader", "MaxAgeSeconds",
    ]

    private func texts(_ name: String) -> [String] { xml.elements.filter { $0.name == name }.map(\.text) }

    private static func matches(_ pattern: String, _ text: String) -> Bool {
        guard let asterisk = pattern.firstIndex(of: "*") else { return pattern == text }
        let (head, tail) = (pattern[..<asterisk], pattern[pattern.index(after: asterisk)...])
        return text.utf8.count >= head.utf8.count + tail.utf8.count && text.hasPrefix(head) && text.hasSuffix(tail)
    }
}
