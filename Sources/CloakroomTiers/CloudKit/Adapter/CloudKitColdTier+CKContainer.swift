#if canImport(CloudKit)
    public import CloakroomKit
    public import CloudKit

    extension CloudKitColdTier {
        /// - Parameters:
        ///   - container: of the app's entitlements.
        ///   - zone: 1 to 100 letters, digits and hyphens; the documents' zone has a longer name.
        /// - Throws: ``CloakroomError``: ``CloakroomError/Code/invalidRequest`` for another name of a zone.
        public init(container: CKContainer = .default(), zone: String = "Cloakroom") throws(CloakroomError) {
            try self.init(CKCloudContainer(container), zone: zone)
        }
    }
#endif
