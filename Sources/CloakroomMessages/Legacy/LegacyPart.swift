import CloakroomCrypto
import Foundation

/// Some messages of a file, and what becomes of them.
struct LegacyPart {
    static let size = 256

    let times: LegacyTimes
    /// Of all, in their order.
    private(set) var fates: [LegacyFate] = []
    /// Those that are no control messages.
    private(set) var candidates: [LegacyCandidate] = []
    /// Of those, what is to be admitted.
    private(set) var new: [IncomingMessage] = []

    /// - Parameter times: of the moment that its messages are measured in.
    init(_ times: LegacyTimes) { self.times = times }

    mutating func add(
        _ message: LegacyMessage, by author: ParticipantID, in session: LegacySession,
        _ policies: [MessageRetentionPolicy]
    ) throws(LegacyFileFault) {
        let sender = AuthenticatedSender(author, in: session.conversation)
        guard !Self.isControlMessage(message.text, from: sender) else {
            fates.append(.control)
            return
        }
        let stamp = try times.stamp(of: message, policies)
        fates.append(.new)
        candidates.append(
            LegacyCandidate(
                message: IncomingMessage(
                    id: message.id, sender: sender, stamp: stamp ?? MessageStamp(policy: .keep), body: message.body),
                isOver: stamp == nil))
    }

    /// - Parameter holdings: of each candidate.
    mutating func decide(_ holdings: [LegacyHolding]) throws(LegacyFileFault) {
        var index = 0
        for (candidate, holding) in zip(candidates, holdings) {
            while index < fates.count, fates[index] == .control { index += 1 }
            switch holding {
            case .nothing(let until):
                guard times.isCertain || until == nil else { throw LegacyFileFault(.timeUncertain) }
                new.append(candidate.message)
            case .nothingAndOver:
                guard times.isCertain else { throw LegacyFileFault(.timeUncertain) }
                fates[index] = .ended
            case .stored: fates[index] = .known
            case .gone: fates[index] = .ended
            case .conflicting: throw LegacyFileFault(.conflicting)
            case .notStored: throw LegacyFileFault(.notStored)
            }
            index += 1
        }
    }

    private static func isControlMessage(_ text: String, from sender: AuthenticatedSender) -> Bool {
        // Only what says so for certain: another text that looks like one is a message.
        ControlMessageDecoder(data: Data(text.utf8), sender: sender).isLegacy
    }
}

/// Hashes of bodies, where a conversation has several files: which of two contents is right is not known.
struct LegacyBodies {
    private let conversations: Set<ConversationID>
    private var known: [MessageReference: (hash: [UInt8], file: String)] = [:]
    private(set) var conflictingFiles: Set<String> = []

    /// - Parameter sessions: of all files.
    init(_ sessions: [LegacySession]) {
        let counts = Dictionary(sessions.map { ($0.conversation, 1) }, uniquingKeysWith: +)
        conversations = Set(counts.filter { $0.value > 1 }.keys)
    }

    mutating func add(_ message: IncomingMessage, in file: String) {
        guard conversations.contains(message.sender.conversation) else { return }
        let hash = SHA256.hash(Array(message.body))
        guard let other = known[message.reference] else {
            known[message.reference] = (hash, file)
            return
        }
        if other.hash != hash { conflictingFiles.formUnion([other.file, file]) }
    }
}
