/// The server's results for the keys of one batch, all of them validated.
struct BatchResponse {
    private var outcomes: [AssetKey: RenewalResult.Outcome] = [:]

    /// Keys that were not requested are ignored; two different results for one key count as none.
    init(_ results: [RenewalResult]) {
        for result in results {
            let key = AssetKey(result.key)
            if let other = outcomes[key], other != result.outcome {
                outcomes[key] = .failed(reason: "two results that differ")
            } else {
                outcomes[key] = result.outcome
            }
        }
    }

    subscript(key: AssetKey) -> RenewalResult.Outcome { outcomes[key] ?? .failed(reason: "no response") }
}
