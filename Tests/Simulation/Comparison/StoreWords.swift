import CloakroomCrypto
import Foundation

@testable import CloakroomAWS
@testable import CloakroomScriptedS3

/// Responses of S3 as texts to compare and to show: without times, ids, and what names a server.
enum StoreWords {
    /// What a request wants, and so what its response holds.
    enum Kind: String {
        case put = "PutObject"
        case get = "GetObject"
        case head = "HeadObject"
        case delete = "DeleteObject"
        case copy = "CopyObject"
        case list = "ListObjectsV2"
        case createUpload = "CreateMultipartUpload"
        case uploadPart = "UploadPart"
        case copyPart = "UploadPartCopy"
        case listParts = "ListParts"
        case complete = "CompleteMultipartUpload"
        case abort = "AbortMultipartUpload"
        case getTags = "GetObjectTagging"
        case putTags = "PutObjectTagging"
    }

    /// - Parameter prefix: of all keys, to be left out.
    static func text(_ kind: Kind, _ response: StoreResponse, prefix: String) -> String {
        let root = response.body.first == UInt8(ascii: "<") ? XMLTree.read(response.body) : nil
        if response.status >= 300 || root?.name == "Error" {
            return "\(response.status) \(root?.text("Code") ?? "")"
        }
        var words = ["\(response.status)"]
        switch kind {
        case .put, .uploadPart: words += fields(["etag"], response)
        case .head, .get:
            words += fields(described, response)
            let metadata = response.fields.keys.filter { $0.hasPrefix("x-amz-meta-") }.sorted()
            words += fields(metadata, response)
            if kind == .get { words.append("body=\(SHA256.hash(response.body).hexadecimal.prefix(8))") }
        case .copy, .copyPart: words.append("etag=\(root?.text("ETag") ?? "none")")
        case .list: words += root.map { list($0, prefix) } ?? ["no list"]
        case .listParts: words += root.map(parts) ?? ["no list"]
        case .complete: words.append("etag=\(root?.text("ETag") ?? "none")")
        case .createUpload: words.append(root?.text("UploadId")?.isEmpty == false ? "upload" : "no upload")
        case .getTags:
            let tags = root?["TagSet"]?.all("Tag") ?? []
            words += tags.map { "\($0.text("Key") ?? "")=\($0.text("Value") ?? "")" }.sorted()
        case .putTags, .delete, .abort: break
        }
        return words.joined(separator: " ")
    }

    private static let described = [
        "etag", "content-length", "content-range", "accept-ranges", "content-type", "cache-control",
        "content-disposition", "x-amz-storage-class", "x-amz-tagging-count",
    ]

    private static func fields(_ names: [String], _ response: StoreResponse) -> [String] {
        names.compactMap { name in response.fields[name].map { "\(name)=\($0)" } }
    }

    private static func list(_ root: XMLTree, _ prefix: String) -> [String] {
        let isEncoded = root.text("EncodingType") == "url"
        func name(_ text: String?) -> String {
            let text = text ?? ""
            let decoded =
                isEncoded ? PercentEncoding.decodeText(text.replacing("+", with: "%20").utf8) ?? "?" : text
            return decoded.hasPrefix(prefix) ? String(decoded.dropFirst(prefix.count)) : "?\(decoded)"
        }
        let objects = root.all("Contents").map {
            "\(name($0.text("Key"))):\($0.text("Size") ?? ""):\($0.text("ETag") ?? ""):\($0.text("StorageClass") ?? "")"
        }
        let groups = root.all("CommonPrefixes").map { name($0.text("Prefix")) }
        return ["[\(objects.joined(separator: ", "))]", "prefixes=[\(groups.joined(separator: ", "))]"]
            + ["KeyCount", "IsTruncated"].map { "\($0)=\(root.text($0) ?? "none")" }
            + (root.text("NextContinuationToken")?.isEmpty == false ? ["goes on"] : [])
    }

    private static func parts(_ root: XMLTree) -> [String] {
        let parts = root.all("Part").map {
            "\($0.text("PartNumber") ?? ""):\($0.text("Size") ?? ""):\($0.text("ETag") ?? "")"
        }
        let next = root.text("IsTruncated") == "true" ? " next=\(root.text("NextPartNumberMarker") ?? "none")" : ""
        return ["[\(parts.joined(separator: ", "))]", "IsTruncated=\(root.text("IsTruncated") ?? "none")\(next)"]
    }
}
