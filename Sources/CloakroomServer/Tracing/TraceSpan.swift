import CloakroomHTTP
import CloakroomJSON

/// One span, as OTLP has it in JSON.
///
/// Source: OpenTelemetry Protocol Specification 1.x, "JSON Protobuf Encoding": names in lowerCamelCase, ids in hexadecimal,
/// 64-bit integers as strings, enumerations as numbers.
struct TraceSpan: Equatable {
    /// Numbers of `SpanKind`.
    enum Kind: Int { case within = 1, server = 2, client = 3 }

    enum Value: Equatable {
        case text(String)
        case integer(Int)
    }

    struct Attribute: Equatable {
        let name: String
        let value: Value

        init(_ name: String, _ value: Value) {
            self.name = name
            self.value = value
        }

        func write(to writer: inout JSONWriter) {
            writer.beginObject()
            writer.member("key", name)
            writer.plainName("value")
            writer.beginObject()
            switch value {
            case .text(let text): writer.member("stringValue", text)
            case .integer(let number): writer.member("intValue", String(number))
            }
            writer.endObject()
            writer.endObject()
        }
    }

    /// Of the trace: two halves of 128 bits.
    let high: UInt64
    let low: UInt64
    let id: UInt64
    /// 0 for the first of a trace.
    let parent: UInt64
    let name: String
    let kind: Kind
    /// In nanoseconds since 1970.
    let start: UInt64
    let end: UInt64
    var attributes: [Attribute] = []
    var hasFailed = false

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.plainName("traceId")
        writer.plainString(count: 32) {
            $0.append(hexadecimal: high)
            $0.append(hexadecimal: low)
        }
        writer.plainName("spanId")
        writer.plainString(count: 16) { $0.append(hexadecimal: id) }
        if parent != 0 {
            writer.plainName("parentSpanId")
            writer.plainString(count: 16) { $0.append(hexadecimal: parent) }
        }
        writer.member("name", name)
        writer.member("kind", kind.rawValue)
        writer.member("startTimeUnixNano", String(start))
        writer.member("endTimeUnixNano", String(end))
        writer.plainName("attributes")
        Self.write(attributes, to: &writer)
        writer.plainName("status")
        writer.beginObject()
        // STATUS_CODE_ERROR; what is not said is STATUS_CODE_UNSET.
        if hasFailed { writer.member("code", 2) }
        writer.endObject()
        writer.endObject()
    }

    static func write(_ attributes: [Attribute], to writer: inout JSONWriter) {
        writer.beginArray()
        for attribute in attributes { attribute.write(to: &writer) }
        writer.endArray()
    }

    /// The body of a request to a collector: `ExportTraceServiceRequest`.
    ///
    /// - Parameters:
    ///   - resource: what the spans are of.
    ///   - spans: each written by ``write(to:)``.
    static func export(_ spans: [[UInt8]], of resource: [Attribute], version: String) -> [UInt8] {
        var writer = JSONWriter(capacity: spans.reduce(512) { $0 + $1.count + 1 })
        writer.beginObject()
        writer.plainName("resourceSpans")
        writer.beginArray()
        writer.beginObject()
        writer.plainName("resource")
        writer.beginObject()
        writer.plainName("attributes")
        write(resource, to: &writer)
        writer.endObject()
        writer.plainName("scopeSpans")
        writer.beginArray()
        writer.beginObject()
        writer.plainName("scope")
        writer.beginObject()
        writer.member("name", "cloakroom")
        writer.member("version", version)
        writer.endObject()
        writer.plainName("spans")
        writer.beginArray()
        for span in spans { writer.members(span) }
        writer.endArray()
        writer.endObject()
        writer.endArray()
        writer.endObject()
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }
}
