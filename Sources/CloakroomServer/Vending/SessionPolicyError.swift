import CloakroomAWS

/// Why a policy template is refused; `path` is such as `Statement[0].Resource[1]`.
enum SessionPolicyError: Error, Sendable, Equatable {
    case notJSON
    /// Not the shape of an IAM policy, or an element that this template may not have.
    case badShape(path: String, expected: String)
    case actionRefused(path: String, action: String)
    /// One that the store of the settings does not have.
    case actionMissing(path: String, action: String, store: ObjectStore)
    /// Uses keys of KMS in another way than the built-in scopes do; `nil` where no key may be used.
    case keysRefused(path: String, expected: String?)
    /// Reaches beyond the user's own folder.
    case tooBroad(path: String, value: String)
    case tooLong(Int)
    /// By the estimate of ``PackedSize``.
    case tooLarge(percent: Int)
}

extension SessionPolicyError: CustomStringConvertible {
    /// One line: where and why.
    var description: String {
        switch self {
        case .notJSON: "is not JSON"
        case .badShape(let path, let expected): "has at \(path) something other than \(expected)"
        case .actionRefused(let path, let action): "allows \(action) at \(path)"
        case .actionMissing(let path, let action, let store):
            "allows \(action) at \(path), which \(store.name) does not have"
        case .keysRefused(let path, _): "uses keys of KMS at \(path) in a way of its own"
        case .tooBroad(let path, let value): "reaches beyond the user's own folder with \(value) at \(path)"
        case .tooLong(let length): "is \(length) characters long for the longest user id"
        case .tooLarge(let percent): "takes about \(percent) % of what STS can pack, for the longest user id"
        }
    }

    var remedy: String {
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
