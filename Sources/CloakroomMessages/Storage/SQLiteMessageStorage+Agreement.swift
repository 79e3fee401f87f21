import CloakroomKit
import CloakroomSQLite
import Foundation

extension SQLiteMessageStorage {
    /// The clock, with what this reading says, also when that cannot be written.
    ///
    /// - Throws: ``CloakroomError/Code/storeFailed`` when nothing can be read, either.
    func clock(at reading: RetentionClock.Reading) throws(CloakroomError) -> RetentionClock {
        follow(reading)
        if clockFailure != nil {
            try database.perform { database throws(SQLiteError) in
                _ = try database.first("SELECT 1 FROM clock") { _ in true }
            }
        }
        keepTime()
        return latestClock
    }

    func agreement(in name: ConversationID) throws(CloakroomError) -> RetentionAgreement {
        guard let reader else { throw Self.notBegun }
        let conversation = try conversation(name)
        return (conversation?.state ?? RetentionState()).agreement(
            reader: reader, members: conversation?.members ?? [], limits: limits)
    }

    /// What this user has said; a default counts as said.
    func ownRegister(in name: ConversationID) throws(CloakroomError) -> RetentionRegister {
        guard let reader else { throw Self.notBegun }
        if let known = try conversation(name)?.state.registers[reader] { return known }
        let register = RetentionRegister(policy: .noStorage)
        try join(register, of: reader, in: name)
        return register
    }

    /// This user's change, in one step.
    func change(
        to policy: MessageRetentionPolicy, in name: ConversationID, applyingTo scope: HistoryScope,
        newestInMemory: NewestBase?
    ) throws(CloakroomError) -> RetentionRegister {
        guard let reader else { throw Self.notBegun }
        let newest = NewestBase.later(newestInMemory, try newestBase(in: name, clock))
        // A cut that reaches further ahead is refused by peers, and with it the policy.
        let bound = clock.plausible.shared.plus(.day).minus(1)
        let register = try ownRegister(in: name).changed(
            to: policy, applyingTo: scope, newestBase: newest.map { min($0.time, bound) }, at: clock.shared)
        guard let register else {
            throw CloakroomError(.invalidControlMessage, "a policy cannot be changed more than 2^53 - 1 times")
        }
        var (certain, uncertain) = (RetentionCuts(), RetentionCuts())
        if clock.isSharedTimeCertain {
            certain = register.cuts
        } else {
            // What counts from a relay's message does not follow later ones.
            if scope == .history, let newest {
                let cuts = RetentionCuts(policy, before: min(newest.time, bound).plus(1))
                if !newest.isByDevice, newest.time <= bound { certain = cuts } else { uncertain = cuts }
            }
            clock.noteUncertainTime()
        }
        try join(register, of: reader, in: name, certain: certain, uncertain: uncertain)
        return register
    }

    private static let notBegun = CloakroomError(.storeFailed, "a storage needs to know whose it is")
}
