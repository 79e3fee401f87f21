/// When failures concern more than one file, so that continuing would only cost time.
struct ConsecutiveFailures {
    /// In a row.
    private let most: Int
    private var count = 0

    init(most: Int) { self.most = most }

    /// Something went well.
    mutating func end() { count = 0 }

    /// - Returns: whether to stop.
    mutating func exceedsLimit(with error: CloakroomError) -> Bool {
        switch error.effect {
        case .ofOneFile: count = 0
        case .perhapsOfAll: count += 1
        case .ofAll: return true
        }
        return count >= most
    }
}

extension CloakroomError {
    /// Which files a failure concerns.
    fileprivate enum Effect {
        case ofOneFile
        /// Every file, if it persists.
        case perhapsOfAll
        case ofAll
    }

    fileprivate var effect: Effect {
        switch code {
        case .unauthorized, .sessionRevoked, .forbidden, .userDisabled, .subscriptionRequired, .storageQuotaExceeded,
            .accessDenied,
            .diskFull, .storeFailed, .notAllowedNow, .untrusted:
            .ofAll
        case .unreachable, .timedOut, .tooManyRequests, .unavailable, .internalError, .invalidResponse: .perhapsOfAll
        default: .ofOneFile
        }
    }
}
