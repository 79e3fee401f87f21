package import CloakroomJSON

/// What ``Route/companionUploads`` takes, as it came. It is Uppy's, so members that are not known here are ignored.
package struct CompanionUploadRequest: WireEncodable {
    /// It is not used: nothing a client chose gets into a key.
    package var filename: String?
    package var type: String?
    package var metadata: [String: String]

    package init(filename: String?, type: String?, metadata: [String: String] = [:]) {
        self.filename = filename
        self.type = type
        self.metadata = metadata
    }

    package init(parsing body: [UInt8]) throws(UploadRequestError) {
        guard let object = (try? JSON(parsing: body, maximumDepth: 4))?.object else { throw UploadRequestError() }
        func text(_ name: String) throws(UploadRequestError) -> String? {
            guard let value = object[name], value != .null else { return nil }
            guard let text = value.string else { throw UploadRequestError() }
            return text
        }
        filename = try text("filename")
        type = try text("type")
        metadata = [:]
        guard let json = object["metadata"], json != .null else { return }
        guard let values = json.object else { throw UploadRequestError() }
        for member in values.members where member.value != .null {
            guard let text = Self.text(of: member.value) else { throw UploadRequestError() }
            metadata[member.name] = text
        }
    }

    /// The text that ``Route/companionForm`` has of the same value: in a query all is text.
    ///
    /// - Returns: `nil` for arrays and objects, and for whole numbers whose digits may be others than those sent.
    private static func text(of value: JSON) -> String? {
        switch value {
        case .string(let text): return text
        case .bool: return value.text
        case .number(let number):
            let text = value.text
            return abs(number) < 0x1p53 && !text.contains("e") ? text : nil
        case .null, .array, .object: return nil
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        if let filename { writer.member("filename", filename) }
        if let type { writer.member("type", type) }
        if !metadata.isEmpty {
            writer.plainName("metadata")
            writer.object(metadata)
        }
        writer.endObject()
    }
}

/// What ``Route/companionCompletion`` takes.
package struct CompanionCompletionRequest: WireEncodable {
    package struct Part: Sendable, Equatable {
        package var number: Int
        /// With or without quotation marks.
        package var entityTag: String

        package init(number: Int, entityTag: String) {
            self.number = number
            self.entityTag = entityTag
        }
    }

    /// By number, each once.
    package var parts: [Part]

    package init(parts: [Part]) { self.parts = parts }

    package init(parsing body: [UInt8]) throws(UploadRequestError) {
        guard let object = (try? JSON(parsing: body, maximumDepth: 4))?.object, let list = object["parts"]?.array,
            (1...10_000).contains(list.count)
        else { throw UploadRequestError() }
        parts = []
        for json in list {
            guard let number = json.object?["PartNumber"]?.integer, (1...10_000).contains(number),
                let tag = json.object?["ETag"]?.string, (1...128).contains(tag.utf8.count)
            else { throw UploadRequestError() }
            parts.append(Part(number: number, entityTag: tag))
        }
        parts.sort { $0.number < $1.number }
        guard zip(parts, parts.dropFirst()).allSatisfy({ $0.number < $1.number }) else { throw UploadRequestError() }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.plainName("parts")
        writer.beginArray()
        for part in parts {
            writer.beginObject()
            writer.plainName("PartNumber")
            writer.integer(part.number)
            writer.member("ETag", part.entityTag)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }
}
