import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension HTTPTransportError {
    /// What URLSession's errors mean to callers; what it does not distinguish is ``interrupted``, which is retryable.
    ///
    /// Source: Apple, "URLError.Code"; on Linux swift-corelibs-foundation, which has few codes of its own and says the rest
    /// in libcurl's messages.
    init(_ error: any Error) {
        guard let error = error as? URLError else {
            self = .interrupted
            return
        }
        switch error.code {
        case .cancelled, .userCancelledAuthentication: self = .cancelled
        case .timedOut: self = .timedOut
        case .notConnectedToInternet: self = error.isForNetworkAccess ? .notAllowedNow : .unreachable
        case .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed, .resourceUnavailable, .cannotLoadFromNetwork:
            self = .unreachable
        case .dataNotAllowed, .internationalRoamingOff, .callIsActive: self = .notAllowedNow
        case .serverCertificateHasBadDate, .serverCertificateUntrusted, .serverCertificateHasUnknownRoot,
            .serverCertificateNotYetValid, .clientCertificateRejected, .clientCertificateRequired:
            self = .untrusted
        case .badURL: self = .invalidRequest
        case .fileDoesNotExist, .fileIsDirectory, .noPermissionsToReadFile: self = .unreadableFile
        case .cannotDecodeRawData, .cannotDecodeContentData: self = .encoded
        case .dataLengthExceedsMaximum: self = .tooLarge
        // A handshake fails for many reasons, and not all of them are permanent.
        case .secureConnectionFailed: self = .interrupted
        // On Linux, also what does not begin with a status line.
        case .unsupportedURL, .networkConnectionLost, .badServerResponse, .cannotParseResponse, .zeroByteResource:
            self = .interrupted
        case .unknown: self = Self(curlMessage: error.userInfo[NSLocalizedDescriptionKey] as? String ?? "")
        default:
            #if canImport(FoundationNetworking)
                self = .interrupted
            #else
                self = error.code == .appTransportSecurityRequiresSecureConnection ? .invalidRequest : .interrupted
            #endif
        }
    }

    /// What swift-corelibs-foundation has no code for, by libcurl's messages (`lib/strerror.c`, `lib/vtls/openssl.c`).
    init(curlMessage message: String) {
        let untrusted = ["SSL certificate", "SSL: ", "SSL peer certificate"]
        let unreachable = ["Failed to connect", "Could not connect", "Couldn't connect", "Could not resolve"]
        let encoded = [
            "Unrecognized content encoding", "Unrecognized or bad HTTP Content", "Error while processing content",
        ]
        if untrusted.contains(where: message.hasPrefix) {
            self = .untrusted
        } else if unreachable.contains(where: message.hasPrefix) {
            self = .unreachable
        } else if encoded.contains(where: message.hasPrefix) {
            self = .encoded
        } else {
            self = .interrupted
        }
    }
}

extension URLError {
    /// Whether there is a network, which the session may not use.
    fileprivate var isForNetworkAccess: Bool {
        #if canImport(FoundationNetworking)
            false
        #else
            networkUnavailableReason != nil
        #endif
    }
}
