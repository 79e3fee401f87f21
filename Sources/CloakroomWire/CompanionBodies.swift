package import CloakroomJSON

// The bodies of Companion's wire, in the spelling that Uppy 4 and 5 read. Those with URLs or credentials are only ever
// written: they are no ``WireBody``, and print nothing.

/// The response of ``Route/companionForm``: a form that takes one object.
package struct CompanionFormBody: WireEncodable {
    package var url: String
    /// What the form must hold besides the file, which comes last.
    package var fields: [String: String]
    /// In seconds.
    package var expires: Int

    package init(url: String, fields: [String: String], expires: Int) {
        self.url = url
        self.fields = fields
        self.expires = expires
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("method", "POST")
        writer.member("url", url)
        writer.plainName("fields")
        writer.object(fields)
        writer.plainName("expires")
        writer.integer(expires)
        writer.endObject()
    }
}

/// The response of ``Route/companionUploads``: a multipart upload has begun.
package struct CompanionUploadBody: WireEncodable {
    package var key: String
    /// Sealed: valid for the user who began it alone.
    package var uploadId: String
    package var bucket: String

    package init(key: String, uploadId: String, bucket: String) {
        self.key = key
        self.uploadId = uploadId
        self.bucket = bucket
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("key", key)
        writer.member("uploadId", uploadId)
        writer.member("bucket", bucket)
        writer.endObject()
    }
}

/// The response to GET of ``Route/companionUpload``: the parts that the store has.
package struct CompanionPartsBody: WireEncodable {
    package struct Part: Sendable, Equatable {
        package var number: Int
        package var entityTag: String
        package var byteCount: Int

        package init(number: Int, entityTag: String, byteCount: Int) {
            self.number = number
            self.entityTag = entityTag
            self.byteCount = byteCount
        }
    }

    package var parts: [Part]

    package init(parts: [Part]) { self.parts = parts }

    package func write(to writer: inout JSONWriter) {
        writer.beginArray()
        for part in parts {
            writer.beginObject()
            writer.plainName("PartNumber")
            writer.integer(part.number)
            writer.member("ETag", part.entityTag)
            writer.plainName("Size")
            writer.integer(part.byteCount)
            writer.endObject()
        }
        writer.endArray()
    }
}

/// The response of ``Route/companionPart``: where to PUT one part.
package struct CompanionPartURLBody: WireEncodable {
    /// A bearer URL.
    package var url: String
    /// In seconds.
    package var expires: Int

    package init(url: String, expires: Int) {
        self.url = url
        self.expires = expires
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("url", url)
        writer.plainName("expires")
        writer.integer(expires)
        writer.endObject()
    }
}

/// The response of ``Route/companionBatch``: the same for several parts.
package struct CompanionPartURLsBody: WireEncodable {
    /// By the parts' numbers.
    package var urls: [Int: String]

    package init(urls: [Int: String]) { self.urls = urls }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.plainName("presignedUrls")
        writer.beginObject()
        for (number, url) in urls.sorted(by: { $0.key < $1.key }) {
            writer.name("\(number)")
            writer.string(url)
        }
        writer.endObject()
        writer.endObject()
    }
}

/// The response of ``Route/companionCompletion``.
package struct CompanionCompletionBody: WireEncodable {
    /// Where the object can be read.
    package var location: String
    package var key: String
    package var bucket: String

    package init(location: String, key: String, bucket: String) {
        self.location = location
        self.key = key
        self.bucket = bucket
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("location", location)
        writer.member("key", key)
        writer.member("bucket", bucket)
        writer.endObject()
    }
}

/// The response of ``Route/companionCredentials``.
package struct CompanionCredentialsBody: WireEncodable {
    package var credentials: STSTokenBody.Credentials
    package var bucket: String
    package var region: String

    package init(_ body: STSTokenBody) {
        credentials = body.credentials
        bucket = body.bucket
        region = body.region
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.plainName("credentials")
        writer.beginObject()
        writer.member("AccessKeyId", credentials.accessKeyId)
        writer.member("SecretAccessKey", credentials.secretAccessKey)
        writer.member("SessionToken", credentials.sessionToken)
        writer.member("Expiration", credentials.expiration)
        writer.endObject()
        writer.member("bucket", bucket)
        writer.member("region", region)
        writer.endObject()
    }
}

extension CompanionFormBody: CustomStringConvertible, CustomReflectable {
    package var description: String { "a form for \(expires) s" }
    package var customMirror: Mirror { Mirror(self, children: ["expires": expires]) }
}

extension CompanionPartURLBody: CustomStringConvertible, CustomReflectable {
    package var description: String { "a part for \(expires) s" }
    package var customMirror: Mirror { Mirror(self, children: ["expires": expires]) }
}

extension CompanionPartURLsBody: CustomStringConvertible, CustomReflectable {
    package var description: String { "\(urls.count) parts" }
    package var customMirror: Mirror { Mirror(self, children: ["count": urls.count]) }
}

extension JSONWriter {
    /// In the order of the names.
    mutating func object(_ texts: [String: String]) {
        beginObject()
        for (name, value) in texts.sorted(by: { $0.key < $1.key }) {
            self.name(name)
            string(value)
        }
        endObject()
    }
}
