/// The worker's response.
package struct Response: Sendable, Equatable {
    package var status: Int
    package var fields: HeaderFields
    package var body: [UInt8]

    package init(status: Int, fields: HeaderFields = [:], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }
}
