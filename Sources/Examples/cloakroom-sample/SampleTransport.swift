import CloakroomKit

// URLSession on Linux uses CPU time while it waits for a response.
#if os(Linux)
    import CloakroomCurlTransport

    typealias SampleTransport = CurlTransport
#else
    typealias SampleTransport = URLSessionTransport
#endif
