import CloakroomHTTP

/// Names for requests that nginx gave none: a counter that begins somewhere else in every process.
struct RequestIDs {
    private var last = UInt64.random(in: .min ... .max)

    mutating func next() -> RequestID {
        last &+= 1
        return RequestID(last)
    }
}
