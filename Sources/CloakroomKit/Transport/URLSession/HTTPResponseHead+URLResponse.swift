import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension HTTPResponseHead {
    init(_ response: HTTPURLResponse) {
        let coding = response.value(forHTTPHeaderField: "Content-Encoding")?.lowercased() ?? ""
        // By name, since the system gives no order.
        let fields = response.allHeaderFields.compactMap { name, value -> (name: String, value: String)? in
            guard let name = name as? String, let value = value as? String else { return nil }
            return (name, value)
        }
        self.init(
            status: response.statusCode, fields: fields.sorted { $0.name < $1.name },
            isDecoded: !coding.isEmpty && coding != "identity")
    }
}
