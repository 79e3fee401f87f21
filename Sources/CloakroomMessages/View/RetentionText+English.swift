extension RetentionText {
    /// The text where an app has none of its own.
    public var english: String {
        switch self {
        case .policy: "Keep messages for"
        case .noStorage: "Not stored"
        case .noStorageHint: "Messages are never written. They are gone when the conversation closes."
        case .seconds: "%1$@ seconds"
        case .minutes: "%1$@ minutes"
        case .hours: "%1$@ hours"
        case .days: "%1$@ days"
        case .weeks: "%1$@ weeks"
        case .keep: "For ever"
        case .imageHint: "Images are removed after %1$@ days all the same."

        case .effective: "What holds for new messages: %1$@"
        case .participants: "Participants"
        case .participantPolicy: "%1$@: %2$@"
        case .thisUser: "You"
        case .unconfirmed: "not confirmed"
        case .disagreement: "Not all want the same."
        case .unconfirmedCount: "%1$@ participants have not confirmed yet."
        case .unsent: "The others do not know of your change yet."
        case .sendAgain: "Tell them now"
        case .arrivedExpired: "%1$@ were over before they arrived."

        case .messages: "%1$@ messages"
        case .working: "One moment…"
        case .changeNew: "New messages: %1$@."
        case .changeHistory: "If messages that are here follow, %1$@ are removed at once."
        case .changeHistoryNothing: "If messages that are here follow, none is removed at once."
        case .applyToNew: "New messages only"
        case .applyToHistory: "Also messages that are here"
        case .applyToHistoryHint: "Messages that you wrote end at the others, too. This cannot be undone."
        case .deleteAll: "Delete all messages"
        case .deleteHint: "The others keep theirs."
        case .deleteQuestion: "%1$@ will be deleted from this device. The others keep theirs."
        case .deleteNothing: "No messages are here."
        case .deleteConfirm: "Delete"
        case .deleted: "%1$@ deleted."
        case .deletedPending: "What is left of their keys is erased within minutes."
        case .stoppedBecause: "Stopped: %1$@."
        case .cancel: "Cancel"
        case .done: "Done"

        case .lossOfVault: "The keys of earlier messages are lost. These cannot be read any more, and were removed."
        case .lossOfDatabase: "The file of earlier messages was damaged. A new one was begun."
        case .lossOfPolicies:
            "How long messages are kept is lost, too. Choose it again: until then new messages are not stored."
        case .failureOffline: "The others cannot be reached now"
        case .failureNoRoom: "There is not enough room on this device"
        case .failureDevice: "A file on this device could not be read or written"
        case .failureInUse: "Messages are in use by another part of the app"
        case .failureLocked: "Unlock this device once, then try again"
        case .failureKeys: "The keys of the messages are lost"
        case .failureStopped: "This was stopped"
        case .failureOther: "This did not work"
        }
    }

    /// For a count of one; `nil` where that makes no difference.
    public var englishForOne: String? {
        switch self {
        case .seconds: "%1$@ second"
        case .minutes: "%1$@ minute"
        case .hours: "%1$@ hour"
        case .days: "%1$@ day"
        case .weeks: "%1$@ week"
        case .imageHint: "Images are removed after %1$@ day all the same."
        case .unconfirmedCount: "%1$@ participant has not confirmed yet."
        case .arrivedExpired: "%1$@ was over before it arrived."
        case .messages: "%1$@ message"
        case .changeHistory: "If messages that are here follow, %1$@ is removed at once."
        default: nil
        }
    }
}
