extension CloakroomError {
    /// Whether it will be the same tomorrow, unless the user or the operator changes something.
    var isLasting: Bool {
        let codes: [Code] = [
            .invalidRequest, .forbidden, .userDisabled, .subscriptionRequired, .storageQuotaExceeded, .bodyTooLarge,
            .contentTypeNotAllowed, .accessDenied,
        ]
        return codes.contains(code)
    }

    /// Whether the next asset would fail in the same way, if it were attempted at once.
    var concernsAll: Bool {
        let codes: [Code] = [
            .unauthorized, .sessionRevoked, .tokenUnavailable, .tooManyRequests, .unavailable, .internalError,
            .unreachable, .timedOut, .untrusted, .notAllowedNow,
        ]
        return codes.contains(code)
    }

    /// Whether it says nothing about the upload's destination.
    var leavesDestinationOpen: Bool {
        let codes: [Code] = [.cancelled, .unreadableFile, .checksumMismatch, .invalidResponse]
        return concernsAll || codes.contains(code)
    }
}
