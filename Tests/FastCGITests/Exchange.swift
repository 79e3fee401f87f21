import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport

@testable import CloakroomFastCGI

extension LibFCGIParser {
    /// Parses what the gate says is a whole request.
    func parse(_ bytes: some Sequence<UInt8>, fields: FieldTable = FieldTable([])) -> Request? {
        let bytes = Array(bytes)
        var gate = Gate(limits: .init(bodyBytes: 1 << 20))
        guard case .complete = gate.walk(bytes.span) else { return nil }
        return bytes.withUnsafeBytes { parse($0, bodyBytes: gate.bodyBytes, fields: fields) }
    }
}
