import CloakroomKit

// URLSession on Linux takes CPU time while it waits for an answer.
#if os(Linux)
    import CloakroomCurlTransport

    typealias SampleTransport = CurlTransport
#else
    typealias SampleTransport = URLSessionTransport
#endif
