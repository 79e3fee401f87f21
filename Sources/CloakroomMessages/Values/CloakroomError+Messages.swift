public import CloakroomKit

extension CloakroomError.Code {
    /// A control message that this version cannot use, or that breaks a rule; nothing changed.
    public static let invalidControlMessage = Self(rawValue: "invalid_control_message")
    /// The keys of the stored messages cannot be read; nothing was changed. Where they are lost, open the storage with
    /// `beginningAnewIfLost`.
    public static let vaultLost = Self(rawValue: "vault_lost")
    /// The vault cannot be used now, as before the first unlock after a start of the device.
    public static let vaultLocked = Self(rawValue: "vault_locked")
}
