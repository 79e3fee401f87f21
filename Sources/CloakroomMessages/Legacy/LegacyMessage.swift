import CloakroomAWS
import CloakroomJSON
import CloakroomKit
import Foundation

/// A message as the older app had it.
struct LegacyMessage: Sendable, Equatable {
    let id: MessageID
    let isOwn: Bool
    let sentAt: Milliseconds
    /// `nil`: no end.
    let expiration: Milliseconds?
    let text: String
    let body: Data
}

/// The messages of a file, one at a time.
struct LegacyMessages {
    private var elements: LegacyElements
    private let format: LegacyMessageFormat
    private let now: Milliseconds
    private var ids: Set<MessageID> = []
    private var index = 0

    /// - Parameter now: nothing was sent more than a day later than that, so that dates of another kind are no dates.
    init(_ bytes: [UInt8], _ format: LegacyMessageFormat, now: Milliseconds) throws(LegacyFileFault) {
        elements = try LegacyElements(bytes)
        self.format = format
        self.now = now
    }

    /// - Returns: `nil` at the end.
    mutating func next() throws(LegacyFileFault) -> LegacyMessage? {
        guard let element = try elements.next() else { return nil }
        let message = try format.message(element, "message \(index)", now: now)
        // The second one would be taken for the first.
        guard ids.insert(message.id).inserted else { throw .damaged("message \(index) has the id of another one") }
        index += 1
        return message
    }

    /// - Returns: fewer than `count` only at the end.
    mutating func next(_ count: Int) throws(LegacyFileFault) -> [LegacyMessage] {
        var messages: [LegacyMessage] = []
        while messages.count < count, let message = try next() { messages.append(message) }
        return messages
    }
}

extension LegacyMessageFormat {
    fileprivate func message(
        _ json: JSON, _ name: String, now: Milliseconds
    ) throws(LegacyFileFault) -> LegacyMessage {
        guard let object = json.object else { throw .damaged("\(name) is no object") }
        guard let id = object[id]?.string.flatMap({ MessageID(rawValue: $0) }) else {
            throw .damaged("\(name) has no \(self.id) of 1 to 128 bytes")
        }
        guard let text = object[text]?.string else { throw .damaged("\(name) has no \(self.text)") }
        guard let isOwn = object[isOwn]?.bool else { throw .damaged("\(name) has no \(self.isOwn)") }
        guard let sentAt = object[sentAt].flatMap(date), (Self.earliest...now.plus(.day)).contains(sentAt) else {
            throw .damaged("\(name) has no date in \(self.sentAt), or one of another kind")
        }
        var expiration: Milliseconds?
        if let json = object[self.expiration], json != .null {
            guard let date = date(json) else { throw .damaged("\(name) has no date in \(self.expiration)") }
            expiration = date
        }
        return LegacyMessage(
            id: id, isOwn: isOwn, sentAt: sentAt, expiration: expiration, text: text,
            body: try body(of: object, text, name))
    }

    private func body(
        of object: JSON.Object, _ text: String, _ name: String
    ) throws(LegacyFileFault) -> Data {
        if let body {
            do { return try body(Data(JSON.object(object).text.utf8)) } catch {
                throw .damaged("the app makes no body of \(name)")
            }
        }
        let known = ignored.union([id, self.text, sentAt, isOwn, expiration])
        if let other = object.members.first(where: { !known.contains($0.name) && $0.value != .null }) {
            throw .damaged("\(name) has a member \(other.name.prefix(64)), which would be lost")
        }
        return Data(text.utf8)
    }

    /// 2007-01-01: what is earlier is a date of another kind.
    private static let earliest: Milliseconds = 1_167_609_600_000

    private func date(_ json: JSON) -> Milliseconds? {
        if dates == .iso8601 {
            return json.string.flatMap { Timestamp(iso8601: $0) }.map { Milliseconds($0.date) }
        }
        guard let number = json.number, abs(number) < 1e15 else { return nil }
        return switch dates {
        case .sinceReferenceDate: Milliseconds(Date(timeIntervalSinceReferenceDate: number))
        case .since1970: Milliseconds(Date(timeIntervalSince1970: number))
        case .millisecondsSince1970: Milliseconds(Date(timeIntervalSince1970: number / 1000))
        case .iso8601: nil
        }
    }
}

/// When older messages end.
struct LegacyTimes {
    /// By which their age is measured.
    let now: Milliseconds
    /// What is over by this is over for certain.
    let certain: Milliseconds

    init(_ clock: RetentionClock, wall: Milliseconds) {
        now = clock.isServerTimeKnown ? clock.shared : wall.asTime
        certain = clock.isServerTimeKnown ? clock.shared : clock.trusted.wall
    }

    enum Term: Equatable {
        /// What to admit it with.
        case live(MessageStamp)
        case ended(isCertain: Bool)
    }

    /// The end that a message had and what the policies say, whichever comes first.
    ///
    /// - Parameter policies: none is ``MessageRetentionPolicy/noStorage``.
    func term(of message: LegacyMessage, _ policies: [MessageRetentionPolicy]) -> Term {
        // What is of a clock that was ahead counts from now.
        let sentAt = min(message.sentAt, now)
        let age = Duration.milliseconds(now.minus(sentAt))
        var limit = policies.compactMap(\.milliseconds).min()
        if let expiration = message.expiration {
            limit = min(limit ?? .max, expiration.minus(sentAt), Milliseconds(MessageRetentionPolicy.longest))
        }
        guard let limit else { return .live(MessageStamp(policy: .keep, age: age)) }
        let seconds = max(0, limit / 1000)
        let end = sentAt.plus(seconds * 1000)
        guard end > now, let policy = MessageRetentionPolicy(afterSent: .seconds(seconds)) else {
            return .ended(isCertain: end <= certain)
        }
        return .live(MessageStamp(policy: policy, age: age))
    }
}
