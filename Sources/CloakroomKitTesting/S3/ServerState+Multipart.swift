import CloakroomAWS
import CloakroomCrypto
import CloakroomKit
import Foundation

extension ServerState {
    /// Of each part but the last, in bytes (Amazon S3 User Guide, "Multipart upload limits").
    private static let smallestPart = 5 << 20

    mutating func createUpload(_ call: ServerCall, _ key: String) -> HTTPResponse {
        let id = "upload-\(digits().prefix(16))"
        uploads[id] = Upload(key: key, fields: Self.kept(call.fields))
        return Self.xml("<InitiateMultipartUploadResult><UploadId>\(id)</UploadId></InitiateMultipartUploadResult>")
    }

    private func upload(_ call: ServerCall) throws(S3Refusal) -> (id: String, upload: Upload) {
        guard let id = call.query["uploadId"], let upload = uploads[id], upload.key == call.key else {
            throw .noSuchUpload
        }
        return (id, upload)
    }

    mutating func putPart(_ call: ServerCall, _ key: String) throws(S3Refusal) -> HTTPResponse {
        let id = try upload(call).id
        guard let number = call.query["partNumber"].flatMap({ Int($0) }), (1...10_000).contains(number) else {
            throw S3Refusal(status: 400, code: "InvalidArgument")
        }
        uploads[id]?.parts[number] = call.body
        return HTTPResponse(status: 200, fields: [("ETag", Self.entityTag(call.body))])
    }

    func listParts(_ call: ServerCall) throws(S3Refusal) -> HTTPResponse {
        let parts = try upload(call).upload.parts.sorted { $0.key < $1.key }.map { number, bytes in
            "<Part><PartNumber>\(number)</PartNumber><ETag>\(Self.entityTag(bytes))</ETag>"
                + "<Size>\(bytes.count)</Size></Part>"
        }
        return Self.xml("<ListPartsResult><IsTruncated>false</IsTruncated>\(parts.joined())</ListPartsResult>")
    }

    mutating func completeUpload(_ call: ServerCall, _ key: String) throws(S3Refusal) -> HTTPResponse {
        let (id, upload) = try upload(call)
        try checkConditions(call, key)
        guard let document = try? XMLReader.read(Array(call.body), limits: .init(bytes: 4 << 20, elements: 1 << 16))
        else { throw S3Refusal(status: 400, code: "MalformedXML") }
        var numbers: [Int] = []
        for part in document.children where part.name == "Part" {
            guard let number = part.text(of: "PartNumber").flatMap({ Int($0) }), let bytes = upload.parts[number],
                part.text(of: "ETag")?.filter({ $0 != "\"" }) == MD5.hash(bytes).hexadecimal
            else { throw S3Refusal(status: 400, code: "InvalidPart") }
            guard number > numbers.last ?? 0 else { throw S3Refusal(status: 400, code: "InvalidPartOrder") }
            numbers.append(number)
        }
        guard !numbers.isEmpty else { throw S3Refusal(status: 400, code: "MalformedXML") }
        let isTooSmall = numbers.dropLast().contains { upload.parts[$0]?.count ?? 0 < Self.smallestPart }
        guard !isTooSmall else { throw S3Refusal(status: 400, code: "EntityTooSmall") }
        assemble(id, numbers: numbers)
        return Self.xml(
            "<CompleteMultipartUploadResult><ETag>\(objects[key]?.entityTag ?? "")</ETag>"
                + "</CompleteMultipartUploadResult>")
    }

    /// Makes the parts one object.
    mutating func assemble(_ id: String, numbers: [Int]) {
        guard let upload = uploads.removeValue(forKey: id) else { return }
        var bytes = Data()
        var sums: [UInt8] = []
        for part in numbers.compactMap({ upload.parts[$0] }) {
            bytes += part
            sums += MD5.hash(part)
        }
        store(
            bytes, at: upload.key, fields: upload.fields,
            entityTag: "\"\(MD5.hash(sums).hexadecimal)-\(numbers.count)\"")
    }
}
