import CloakroomCrypto
import HTTPValues

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A copy of an object onto itself in parts: the requests, unsigned, and what is answered to them.
///
/// Source: S3 API Reference, CreateMultipartUpload, UploadPartCopy, CompleteMultipartUpload, AbortMultipartUpload.
struct LargeCopy {
    /// The largest that one CopyObject takes, in bytes.
    static let largestWhole = 5 << 30
    /// Of a size that S3 copies well within one try's timeout, and never more of them than an upload may have.
    private static let usualPart = 256 << 20
    private static let mostParts = 10_000

    let bucket: String
    let object: ObjectAddress
    let endpoint: Endpoint
    let expectedBucketOwner: String?

    /// The parts of so many bytes, none larger than one UploadPartCopy may be.
    static func ranges(byteCount: Int) -> [ClosedRange<Int>] {
        let part = max(usualPart, (byteCount + mostParts - 1) / mostParts)
        return stride(from: 0, to: byteCount, by: part).map { $0...min($0 + part, byteCount) - 1 }
    }

    /// - Parameter fields: all that the object is to have.
    func creation(_ fields: HeaderFields) -> SigV4.Message {
        var message = message("POST", query: "uploads")
        message.fields.add(fields)
        return message
    }

    /// - Parameter number: from 1.
    func part(_ number: Int, _ range: ClosedRange<Int>, upload: String, entityTag: String) -> SigV4.Message {
        var message = message("PUT", query: "partNumber=\(number)&uploadId=\(PercentEncoding.encode(upload))")
        message.fields.add("x-amz-copy-source", object.copySource(in: bucket))
        message.fields.add("x-amz-copy-source-if-match", entityTag)
        message.fields.add("x-amz-copy-source-range", "bytes=\(range.lowerBound)-\(range.upperBound)")
        if let expectedBucketOwner { message.fields.add("x-amz-source-expected-bucket-owner", expectedBucketOwner) }
        return message
    }

    /// - Parameter parts: the entity tags of all parts, in order.
    func completion(_ parts: [String], upload: String, entityTag: String) -> (message: SigV4.Message, body: [UInt8]) {
        let list = parts.enumerated().map { index, tag in
            XMLNode("Part", [XMLNode("PartNumber", String(index + 1)), XMLNode("ETag", tag)])
        }
        let body = XMLNode("CompleteMultipartUpload", list).document(namespace: S3Client.namespace)
        var message = message("POST", query: "uploadId=\(PercentEncoding.encode(upload))")
        message.payloadHash = SHA256.hash(body).hexadecimal
        // What somebody has written meanwhile stays.
        message.fields.add("if-match", entityTag)
        return (message, body)
    }

    func abortion(upload: String) -> SigV4.Message {
        message("DELETE", query: "uploadId=\(PercentEncoding.encode(upload))")
    }

    private func message(_ method: String, query: String) -> SigV4.Message {
        var message = SigV4.Message(
            method: method, path: object.path(at: endpoint), query: query, fields: ["host": endpoint.host],
            payloadHash: SigV4.emptyPayloadHash)
        if let expectedBucketOwner { message.fields.add("x-amz-expected-bucket-owner", expectedBucketOwner) }
        return message
    }
}

extension LargeCopy {
    /// - Returns: the upload's id.
    static func created(_ response: UpstreamResponse) throws(Fault) -> String {
        let id = try text("UploadId", in: "InitiateMultipartUploadResult", response)
        guard id.utf8.count <= 2048 else { throw Fault(.transient, status: 200, code: "MalformedAnswer") }
        return id
    }

    /// - Returns: the part's entity tag; `nil` when the object is no longer the same, or gone.
    static func copied(_ response: UpstreamResponse) throws(Fault) -> String? {
        try unlessChanged(response) { response throws(Fault) in
            try text("ETag", in: "CopyPartResult", response)
        }
    }

    struct Completion {
        let expiration: Date?
    }

    /// S3 may begin its answer before it knows how it ends: with 200, blanks, and then perhaps an error.
    ///
    /// - Returns: `nil` when the object is no longer the same, or the upload gone, as it is once it was completed.
    static func completed(_ response: UpstreamResponse) throws(Fault) -> Completion? {
        try unlessChanged(response) { response throws(Fault) in
            _ = try text("ETag", in: "CompleteMultipartUploadResult", response)
            return Completion(expiration: ObjectExpiration.date(response.fields))
        }
    }

    private static func unlessChanged<Value>(
        _ response: UpstreamResponse, _ read: (UpstreamResponse) throws(Fault) -> Value
    ) throws(Fault) -> Value? {
        do {
            return try read(response)
        } catch {
            switch (error.status, error.code) {
            case (412, "PreconditionFailed"), (404, "NoSuchKey"), (404, "NoSuchUpload"): return nil
            default: throw error
            }
        }
    }

    private static func text(
        _ name: String, in rootName: String, _ response: UpstreamResponse
    ) throws(Fault) -> String {
        let root = try? XMLReader.read(response.body)
        guard response.status == 200, let root, root.hasName(rootName), let text = root.text(of: name), !text.isEmpty
        else { throw Fault(response, error: root.flatMap { ErrorAnswer($0) }) }
        return text
    }
}
