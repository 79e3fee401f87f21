import CloakroomLoop
import CloakroomMessages

/// What users want of a conversation's messages, and what each device knows of it.
extension MessageLedger {
    struct Agreement {
        /// The last version of each user.
        var latest: [String: Int64] = [:]
        /// Of each device: the last version of each user that it was told.
        var heard: [String: [String: Int64]] = [:]
        /// Of each device: all that it knew when it was looked at last.
        var known: [String: [String: RetentionRegister]] = [:]
        /// Two users have changed what they want, neither knowing of the other's change.
        var isContended = false

        mutating func forget(_ device: String) {
            heard[device] = nil
            known[device] = nil
        }
    }

    /// A user has changed what they want.
    func changed(
        _ conversation: Conversation, by user: String, to version: Int64,
        knowing known: [ParticipantID: RetentionRegister]
    ) {
        var agreement = agreements[conversation.id] ?? Agreement()
        for (other, version) in agreement.latest where other != user {
            let isKnown = known[Conversation.participant(other)].map { $0.version.number >= version } ?? false
            if !isKnown { agreement.isContended = true }
        }
        agreement.latest[user] = max(agreement.latest[user] ?? 0, version)
        agreements[conversation.id] = agreement
    }

    /// A device was told what a user wants.
    func heard(_ version: Int64, of user: String, _ conversation: ConversationID, on device: String) {
        let former = agreements[conversation, default: Agreement()].heard[device, default: [:]][user] ?? 0
        agreements[conversation, default: Agreement()].heard[device, default: [:]][user] = max(former, version)
    }

    /// What a device knows now.
    func knows(
        _ registers: [ParticipantID: RetentionRegister], of conversation: Conversation, _ launch: MessengerLaunch,
        devices: [String]
    ) {
        var agreement = agreements[conversation.id] ?? Agreement()
        let known = Dictionary(uniqueKeysWithValues: registers.map { ($0.key.rawValue, $0.value) })
        agreement.known[launch.device] = known
        if let own = known[launch.user] {
            agreement.latest[launch.user] = max(agreement.latest[launch.user] ?? 0, own.version.number)
        }
        for (user, version) in agreement.heard[launch.device] ?? [:] {
            Finding.require(
                (known[user]?.version.number ?? 0) >= version, "\(launch.device) has forgotten what \(user) wants")
        }
        if agreement.isContended, devices.allSatisfy({ agreement.isKnown(on: $0) }) {
            agreement.isContended = false
            Trace.reached(.agreementConverged)
        }
        agreements[conversation.id] = agreement
    }
}

extension MessageLedger.Agreement {
    /// Whether a device knows the last of all.
    fileprivate func isKnown(on device: String) -> Bool {
        guard let known = known[device] else { return false }
        return latest.allSatisfy { known[$0.key]?.version.number == $0.value }
    }
}

extension Oracle {
    /// After all have met: each device knows what each user wants.
    func convergence(of conversation: Conversation, devices: [String], users: [String: String]) {
        guard let agreement = messages.agreements[conversation.id] else { return }
        for device in devices {
            guard let author = users[device], let own = agreement.known[device]?[author] else { continue }
            // The time that a new device's first change has as its version may be before that of a former one, whose clock was
            // ahead.
            let isOld = messages.newUsers.contains(author) && own.version.number < agreement.latest[author] ?? 0
            let hasLostCuts =
                messages.newUsers.contains(author)
                || messages.cuts.contains { $0.author == author && !$0.isCertain }
            for other in devices where other != device && !isOld {
                let known = agreement.known[other]?[author]
                Finding.require(
                    known?.version == own.version && known?.policy == own.policy,
                    "\(other) does not know what \(author) wants in \(conversation.id.rawValue)")
                Finding.require(
                    hasLostCuts || known?.cuts == own.cuts,
                    "\(other) does not know how far \(author) reaches back in \(conversation.id.rawValue)")
            }
        }
    }

    /// What a device has, all purges being complete.
    func bounds(_ counts: SQLiteMessageStorage.Counts, _ launch: MessengerLaunch) {
        Trace.most("messages on a device", counts.messages)
        Trace.most("keys on a device", counts.keys)
        Trace.most("images to release on a device", counts.releases)
        let device = launch.device
        Finding.require(counts.condemned == 0, "\(device) has \(counts.condemned) messages in the journal of a purge")
        Finding.require(
            counts.files <= counts.live, "\(device) has \(counts.files) sealed files, and \(counts.live) are named")
        let most = messages.here(device).count
        Finding.require(counts.messages <= most, "\(device) has \(counts.messages) messages of \(most)")
        // One for each span of time that a message may end in, of each conversation.
        Finding.require(counts.keys <= 2 * most + 64, "\(device) has \(counts.keys) keys of \(most) messages")
        Finding.require(counts.releases <= messages.images.count, "\(device) has \(counts.releases) images to release")
    }
}
