/// What the server said of the keys of one batch, with nothing taken for granted.
struct BatchResponse {
    private var outcomes: [AssetKey: RenewalResult.Outcome] = [:]

    /// What was not asked for counts for nothing; two words on one key that differ count for none.
    init(_ results: [RenewalResult]) {
        for result in results {
            let key = AssetKey(result.key)
            if let other = outcomes[key], other != result.outcome {
                outcomes[key] = .failed(reason: "two answers that differ")
            } else {
                outcomes[key] = result.outcome
            }
        }
    }

    subscript(key: AssetKey) -> RenewalResult.Outcome { outcomes[key] ?? .failed(reason: "no response") }
}
