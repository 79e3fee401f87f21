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
    private let times: LegacyTimes
    private var ids: Set<AuthoredID> = []
    private var index = 0

    /// Each author has ids of their own.
    private struct AuthoredID: Hashable {
        let id: MessageID
        let isOwn: Bool
    }

    /// - Parameter times: nothing was sent more than a day later than now, so that dates of another kind are no dates.
    init(_ bytes: [UInt8], _ format: LegacyMessageFormat, _ times: LegacyTimes) throws(LegacyFileFault) {
        elements = try LegacyElements(bytes)
        self.format = format
        self.times = times
    }

    /// - Returns: `nil` at the end.
    mutating func next() throws(LegacyFileFault) -> LegacyMessage? {
        guard let element = try elements.next() else {
            if let other = elements.otherMembers.first(where: { !format.ignoredInFile.contains($0) }) {
                throw .damaged("it has a member \(other.prefix(64)) beside its messages, which would be lost")
            }
            return nil
        }
        let message = try format.message(element, "message \(index)", times)
        // The second one would be taken for the first.
        guard ids.insert(AuthoredID(id: message.id, isOwn: message.isOwn)).inserted else {
            throw .damaged("message \(index) has the id of another one of its author")
        }
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
        _ json: JSON, _ name: String, _ times: LegacyTimes
    ) throws(LegacyFileFault) -> LegacyMessage {
        guard let object = json.object else { throw .damaged("\(name) is no object") }
        guard let id = object[id]?.string.flatMap({ MessageID(rawValue: $0) }) else {
            throw .damaged("\(name) has no \(self.id) of 1 to 128 bytes")
        }
        guard let text = object[text]?.string else { throw .damaged("\(name) has no \(self.text)") }
        guard let isOwn = object[isOwn]?.bool else { throw .damaged("\(name) has no \(self.isOwn)") }
        guard let sentAt = object[sentAt].flatMap(date), sentAt >= Self.earliest else {
            throw .damaged("\(name) has no date in \(self.sentAt), or one of another kind")
        }
        guard sentAt <= times.now.plus(.day) else {
            // The device's clock may be years behind.
            guard times.isCertain else { throw LegacyFileFault(.timeUncertain) }
            throw .damaged("\(name) has a date in \(self.sentAt) that is yet to come, or one of another kind")
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
    /// By which their age is measured: the server's time, or what this device's clock shows.
    let now: Milliseconds
    /// Whether it is the server's: a device's clock that is ahead would end messages early, and for good.
    let isCertain: Bool

    init(now: Milliseconds, isCertain: Bool = true) {
        self.now = now
        self.isCertain = isCertain
    }

    init(_ clock: RetentionClock, wall: Milliseconds) {
        isCertain = clock.isServerTimeKnown
        now = isCertain ? clock.shared : wall.asTime
    }

    /// What apps write for "never": the year 4001.
    private static let never = Milliseconds(Date.distantFuture)

    /// The end that a message had and what the policies say, whichever comes first.
    ///
    /// - Parameter policies: none is ``MessageRetentionPolicy/noStorage``.
    /// - Returns: what to admit it with; `nil`: it is over.
    func stamp(
        of message: LegacyMessage, _ policies: [MessageRetentionPolicy]
    ) throws(LegacyFileFault) -> MessageStamp? {
        // What is of a clock that was ahead counts from now.
        let sentAt = min(message.sentAt, now)
        let age = Duration.milliseconds(now.minus(sentAt))
        var limit = policies.compactMap(\.milliseconds).min()
        if let expiration = message.expiration, expiration < Self.never {
            let own = expiration.minus(sentAt)
            guard limit != nil || own <= Milliseconds(MessageRetentionPolicy.longest) else {
                throw LegacyFileFault(isCertain ? .endTooLate : .timeUncertain)
            }
            limit = min(limit ?? own, own)
        }
        guard let limit else { return MessageStamp(policy: .keep, age: age) }
        guard isCertain else { throw LegacyFileFault(.timeUncertain) }
        let seconds = max(0, limit / 1000)
        guard sentAt.plus(seconds * 1000) > now, let policy = MessageRetentionPolicy(afterSent: .seconds(seconds))
        else {
            return nil
        }
        return MessageStamp(policy: policy, age: age)
    }
}
