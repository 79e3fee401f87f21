import Foundation

/// What the documents of all of the user's devices say at one moment.
struct DeviceSurvey: Sendable {
    /// When the documents were listed, by the store's clock; the device's where the store does not say.
    var date: Date
    /// Whether `date` is the store's.
    var isServerDate: Bool
    /// The MD5s that other devices have announced to delete: nothing of these may leave this device.
    var announcedDeletions: Set<[UInt8]>
    /// Another device has given this one up.
    var isDismissed: Bool
    /// The documents that announce deletions of this device, and when each was written.
    var ownIntents: [String: Date] = [:]
    /// The documents of all devices that announce deletions.
    var intents: Set<String> = []
    /// Which listing of this process it is.
    var number = 0
}
