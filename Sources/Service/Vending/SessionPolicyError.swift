import AWS

/// Why a policy template is refused; `place` is such as `Statement[0].Resource[1]`.
enum SessionPolicyError: Error, Sendable, Equatable {
    case notJSON
    /// Not the shape of an IAM policy, or an element that this template may not have.
    case badShape(place: String, expected: String)
    case actionRefused(place: String, action: String)
    /// One that the store of the settings does not have.
    case actionMissing(place: String, action: String, store: ObjectStore)
    /// Uses keys of KMS in another way than the built-in scopes do; `nil` where no key may be used.
    case keysRefused(place: String, expected: String?)
    /// Reaches beyond the user's own folder.
    case tooBroad(place: String, value: String)
    case tooLong(Int)
    /// By the estimate of ``PackedSize``.
    case tooLarge(percent: Int)
}

extension SessionPolicyError: CustomStringConvertible {
    /// One line: where and why.
    var description: String {
        switch self {
        case .notJSON: "is not JSON"
        case .badShape(let place, let expected): "has at \(place) something other than \(expected)"
        case .actionRefused(let place, let action): "allows \(action) at \(place)"
        case .actionMissing(let place, let action, let store):
            "allows \(action) at \(place), which \(store.name) does not have"
        case .keysRefused(let place, _): "uses keys of KMS at \(place) in a way of its own"
        case .tooBroad(let place, let value): "reaches beyond the user's own folder with \(value) at \(place)"
        case .tooLong(let length): "is \(length) characters long for the longest user id"
        case .tooLarge(let percent): "takes about \(percent) % of what STS can pack, for the longest user id"
        }
    }

    var wayOut: String {
        switch self {
        case .notJSON: "write an IAM policy as JSON, each name once, without comments"
        case .badShape: "write Version 2012-10-17 and statements of Effect, Action, Resource and Condition"
        case .actionRefused: "leave it out; a session may read, write, delete and restore objects and list"
        case .actionMissing: "leave it out, or correct vending.store"
        case .keysRefused(_, let expected?): "take it out, or write \(expected)"
        case .keysRefused(_, nil): "take it out, or name the keys in vending.kmsKeyARNs"
        case .tooBroad:
            "confine it to ${bucket} and a folder ${user}/, with nothing but plain names before it"
        case .tooLarge: "name fewer actions and resources"
        case .tooLong: "shorten it to \(SessionPolicy.maximumLength), STS takes no more"
        }
    }
}
