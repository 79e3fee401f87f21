/// The server's results by their keys, all of them validated.
struct BatchResponse {
    private var outcomes: [AssetKey: RenewalResult.Outcome] = [:]

    /// Keys that were not requested are ignored; results for one key that contradict each other count as none.
    init(_ results: [RenewalResult]) {
        for result in results {
            let key = AssetKey(result.key)
            if let other = outcomes[key], !other.agrees(with: result.outcome) {
                outcomes[key] = .failed(reason: "contradiction")
            } else {
                outcomes[key] = result.outcome
            }
        }
    }

    subscript(key: AssetKey) -> RenewalResult.Outcome { outcome(of: key) ?? .failed(reason: "no response") }

    /// - Returns: `nil` for a key of which the response says nothing.
    func outcome(of key: AssetKey) -> RenewalResult.Outcome? { outcomes[key] }
}

extension RenewalResult.Outcome {
    /// Duplicates may have been renewed one after the other, and so expire at different times.
    fileprivate func agrees(with other: Self) -> Bool {
        switch (self, other) {
        case (.renewed, .renewed): true
        default: self == other
        }
    }
}
