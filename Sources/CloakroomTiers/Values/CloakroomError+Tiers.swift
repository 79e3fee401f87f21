public import CloakroomKit

extension CloakroomError.Code {
    /// The store has other bytes under this photo's key; the photo stays on the device.
    public static let photoCollision = Self(rawValue: "photo_collision")
    /// The store is going to delete the photo, by a rule for its key.
    public static let photoExpiring = Self(rawValue: "photo_expiring")
    /// The store does not have the photo any more, and this device has only its thumbnail.
    public static let photoMissing = Self(rawValue: "photo_missing")
    /// The file on this device has other bytes than the photo that was added.
    public static let photoDamaged = Self(rawValue: "photo_damaged")
    /// Another photo has this name.
    public static let nameTaken = Self(rawValue: "name_taken")
    /// There is no photo of this name or id.
    public static let noSuchPhoto = Self(rawValue: "no_such_photo")
    /// Another account is signed in than the one whose photos these are.
    public static let accountChanged = Self(rawValue: "account_changed")
    /// The user has deleted the photos of this app in the system's settings: the user decides before anything is uploaded again, see
    /// ``CloudKitColdTier/recreateZone()``.
    public static let zoneDeleted = Self(rawValue: "zone_deleted")
    /// The user has lost the keys of the data in iCloud, and with them the data: upload again what is on this device,
    /// after ``CloudKitColdTier/recreateZone()``.
    public static let encryptedDataReset = Self(rawValue: "encrypted_data_reset")
    /// An alarm of the store is open: see ``TieredPhotoStore/alarms()``.
    public static let alarmRaised = Self(rawValue: "alarm_raised")
    /// The device's clock shows a time before one that was seen already.
    public static let clockWentBack = Self(rawValue: "clock_went_back")
}

extension CloakroomError {
    /// Whether it is the same for every photo of the tier, until the user has done something about it.
    var concernsTier: Bool {
        switch code {
        case .accountChanged, .zoneDeleted, .encryptedDataReset: true
        default: false
        }
    }
}
