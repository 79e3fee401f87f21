extension CloakroomError {
    /// Whether it will be the same tomorrow, unless the user or the operator changes something.
    var isLasting: Bool {
        let codes: [Code] = [
            .invalidRequest, .forbidden, .userDisabled, .subscriptionRequired, .storageQuotaExceeded, .bodyTooLarge,
            .contentTypeNotAllowed, .accessDenied,
        ]
        return codes.contains(code)
    }

    /// Whether requests for other assets have to wait, too: a lasting refusal is recorded for each asset by itself.
    var concernsAll: Bool { reach != .one && !isLasting }

    /// Whether it says nothing about the upload's destination.
    var leavesDestinationOpen: Bool {
        let codes: [Code] = [.cancelled, .unreadableFile, .checksumMismatch]
        return concernsAll || codes.contains(code)
    }
}
