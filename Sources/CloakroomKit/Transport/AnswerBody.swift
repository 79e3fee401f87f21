import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An answer while it arrives.
struct AnswerBody {
    private enum Destination {
        case memory(maximumBytes: Int)
        case file(TransportFile, offset: Int64)
    }

    /// Of the body of an answer that is no success, when there is a file for successes.
    private static let longestExplanation = 64 << 10

    private let destination: Destination
    private let isHead: Bool
    private var response: HTTPURLResponse?
    private var memory = Data()
    private var byteCount: Int64 = 0

    init(_ destination: HTTPDestination, isHead: Bool) throws(HTTPTransportError) {
        switch destination {
        case .memory(let maximumBytes): self.destination = .memory(maximumBytes: maximumBytes)
        case .file(let url, let offset):
            guard offset >= 0 else { throw .invalidRequest }
            self.destination = .file(try TransportFile(writing: url), offset: offset)
        }
        self.isHead = isHead
    }

    /// Takes the head; the last one counts, those before are interim ones (100, 103).
    mutating func begin(_ response: HTTPURLResponse) -> HTTPTransportError? {
        self.response = response
        if case .memory(let maximumBytes) = destination, !isHead, let expected = response.contentLength,
            expected > maximumBytes
        {
            return .tooLarge
        }
        return nil
    }

    mutating func append(_ data: Data) -> HTTPTransportError? {
        let isSuccess = response.map { 200...299 ~= $0.statusCode } ?? false
        // The system has undone the coding; for an error's text that is welcome.
        if isSuccess, response?.isEncoded == true, !data.isEmpty { return .encoded }
        defer { byteCount += Int64(data.count) }
        switch destination {
        case .memory(let maximumBytes):
            guard data.count <= maximumBytes - memory.count else { return .tooLarge }
            memory.append(data)
        case .file(let file, let offset) where isSuccess:
            do throws(HTTPTransportError) { try file.write(data, at: offset + byteCount) } catch { return error }
        case .file:
            memory.append(data.prefix(Self.longestExplanation - memory.count))
        }
        return nil
    }

    func finish(_ last: HTTPURLResponse?) -> Result<HTTPAnswer, HTTPTransportError> {
        guard let response = response ?? last else { return .failure(.interrupted) }
        guard isWhole(response) else { return .failure(.interrupted) }
        return .success(
            HTTPAnswer(
                status: response.statusCode, fields: response.fields, body: memory, byteCount: byteCount))
    }

    /// Whether as much came as was announced. URLSession on Apple's systems does not say so in all cases; on Linux the body of
    /// a redirect that leads nowhere is lost.
    private func isWhole(_ response: HTTPURLResponse) -> Bool {
        guard !isHead, !(300...399 ~= response.statusCode), response.statusCode != 204, !response.isEncoded,
            let announced = response.contentLength
        else { return true }
        return announced == byteCount
    }
}

extension HTTPURLResponse {
    fileprivate var contentLength: Int64? { value(forHTTPHeaderField: "Content-Length").flatMap { Int64($0) } }

    fileprivate var isEncoded: Bool {
        guard let coding = value(forHTTPHeaderField: "Content-Encoding") else { return false }
        return !coding.isEmpty && coding.lowercased() != "identity"
    }

    /// By name, since the system gives no order.
    fileprivate var fields: [(name: String, value: String)] {
        allHeaderFields.compactMap { name, value in
            guard let name = name as? String, let value = value as? String else { return nil }
            return (name, value)
        }
        .sorted { $0.name < $1.name }
    }
}
