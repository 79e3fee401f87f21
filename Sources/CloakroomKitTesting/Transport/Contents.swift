package import CloakroomKit
package import Foundation

extension HTTPBody {
    /// Its bytes, read from the file where it is one.
    package func contents() throws(HTTPTransportError) -> Data {
        switch self {
        case .none: return Data()
        case .bytes(let data): return data
        case .file(let url, let range):
            do {
                let file = try FileHandle(forReadingFrom: url)
                defer { try? file.close() }
                try file.seek(toOffset: UInt64(range.lowerBound))
                let data = range.isEmpty ? Data() : try file.read(upToCount: range.count) ?? Data()
                if data.count == range.count { return data }
            } catch {}
            throw .unreadableFile
        }
    }
}

extension HTTPResponse {
    /// Its body in the destination, as a transport leaves it there.
    package func delivered(to destination: HTTPDestination) throws(HTTPTransportError) -> HTTPResponse {
        switch destination {
        case .memory(let maximumBytes):
            guard body.count <= maximumBytes else { throw .tooLarge }
            return self
        case .file(let url, let offset):
            guard (200..<300).contains(status) else { return self }
            do {
                let file = try FileHandle(forWritingTo: url)
                try file.seek(toOffset: UInt64(offset))
                try file.write(contentsOf: body)
                try file.close()
            } catch {
                throw .unwritableFile(isFull: false)
            }
            return HTTPResponse(status: status, fields: fields, body: Data(), byteCount: Int64(body.count))
        }
    }
}
